# SPDX-License-Identifier: MIT OR Apache-2.0
"""Atomic operations on words of global memory."""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit


def atomic(
    kind: arith.AtomicRMWKind, value: ir.Value, memory: ir.Value, place: ir.Value
) -> ir.Value:
    """Combine the word at an index of a memref with a value; returns what was there."""
    number = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), int(kind))
    return emit("memref.atomic_rmw", [value, memory, place], value.type, kind=number)
