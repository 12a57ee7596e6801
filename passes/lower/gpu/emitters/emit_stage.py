# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits the code of a stage."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.general import emit_general, is_general
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape
from xyntra.passes.lower.gpu.emitters.families import code_of, families_of
from xyntra.passes.lower.gpu.stages.launch_groups import is_nest
from xyntra.passes.lower.gpu.stages.stage import Stage
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.shared_constants import shared_constants

_SINGLE = LaunchShape(1, 1)


def emit_stage(
    stage: Stage, module: ir.Operation, name: str, device: GpuDevice
) -> LaunchShape | None:
    """Emit the code of one thread behind the operations of `stage`, as its schedule says.

    What it replaces is left to be erased by `erase_emitted`, once no more code is made.

    Args:
        stage: part of the kernel function of `module`.
        module: where shared memory is declared.
        name: prefix of new symbols.
        device: that the code is for.

    Returns:
        The launch that runs the code; None where there is nothing to do.

    Raises:
        CompileError: the launch would need more blocks than there can be, or the schedule cannot
            be carried out.
    """
    last = stage.operations[-1]
    with shared_constants(stage.op.regions[0].blocks[0]):
        code = code_of(stage, families_of(device), device)
        with last.location, ir.InsertionPoint(last):
            return _checked(code(SharedMemory(module, name, device)), device)


def emit_plain_stage(stage: Stage, device: GpuDevice) -> LaunchShape | None:
    """Emit a stage of one operation as `emit_stage` does, with one thread for each element.

    What no thread can compute alone is left to a single one.
    """
    (op,) = stage.operations
    if op.name == "linalg.generic" and 0 in loop_extents(op):
        return None
    if not is_general(op):
        return _SINGLE
    with op.location, ir.InsertionPoint(op):
        return _checked(emit_general(op), device)


def erase_emitted(stage: Stage) -> None:
    """Erase the operations of a stage that `emit_stage` has emitted code for."""
    if all(is_nest(op) or is_general(op) for op in stage.operations):
        for op in reversed(stage.operations):
            op.erase()


def _checked(shape: LaunchShape | None, device: GpuDevice) -> LaunchShape | None:
    if shape is None:
        return None
    if shape.grid > device.grid:
        message = f"a kernel needs {shape.grid:,} blocks of threads"
        raise CompileError("kernel-grid", message, cause=f"{device.name} has {device.grid:,}")
    if shape.block > device.block_threads:
        message = f"a kernel needs blocks of {shape.block:,} threads"
        raise CompileError(
            "kernel-block", message, cause=f"{device.name}: {device.block_threads:,}"
        )
    return shape
