# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the kernel of an attention."""

from __future__ import annotations

from xyntra.passes.lower.cuda.attention.decode import emit_decode
from xyntra.passes.lower.cuda.attention.decode_plan import plan_decode
from xyntra.passes.lower.cuda.attention.flash import emit_flash
from xyntra.passes.lower.cuda.attention.hopper import emit_hopper
from xyntra.passes.lower.cuda.attention.hopper_plan import plan_hopper
from xyntra.passes.lower.cuda.attention.problem import Problem
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape


def emit_attention(problem: Problem, shared: SharedMemory, device: Device) -> LaunchShape:
    """Emit an attention for a launch of the returned shape.

    Args:
        problem: what is to be computed.
        shared: memory of the block.
        device: that the code is for.
    """
    plan = plan_hopper(problem, device)
    if plan is not None:
        return emit_hopper(problem, plan, shared, device)
    few = plan_decode(problem, device)
    if few is not None:
        return emit_decode(few, shared)
    return emit_flash(problem, shared, device)
