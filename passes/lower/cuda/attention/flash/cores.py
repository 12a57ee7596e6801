# SPDX-License-Identifier: MIT OR Apache-2.0
"""Selects the matrix multiply of a warp: tensor cores for 16 bits, FMAs for f32."""

from __future__ import annotations

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.flash.fragments import Multiplier
from xyntra.passes.lower.cuda.attention.flash.scalar_cores import ScalarCores
from xyntra.passes.lower.cuda.attention.flash.tensor_cores import TensorCores
from xyntra.passes.lower.cuda.attention.plan import FlashPlan

__all__ = ["LANES", "multiplier"]

LANES = 32


def multiplier(
    plan: FlashPlan, dtype: str, thread: Scalar, lane: Scalar, shared: Scalar, queries: Scalar
) -> Multiplier:
    """Tensor cores for 16 bits, fused multiply-adds for f32.

    Args:
        plan: how the block's shared memory is laid out.
        dtype: of queries and keys.
        thread: its number in the block, uint32.
        lane: its number in the warp, uint32.
        shared: address of the block's shared memory.
        queries: address of the warp's queries.
    """
    if dtype != "float32":
        return TensorCores(plan, dtype, lane, queries)
    own = shared + thread / LANES * plan.own_bytes + plan.own_start
    return ScalarCores(plan, lane, queries, own)
