# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes places in memory whose distances a kernel is told.

Loads and stores that a kernel came with, as those of a scan or of an indexed element, name an
index for each dimension. Their memrefs have the shape of a sample, and so would the addresses.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.sizes.session import sized_strides
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index, plus
from xyntra.passes.lower.loops.memrefs import flattened, has_static_layout

__all__ = ["tell_places"]


def tell_places(module: ir.Operation) -> None:
    """Let loads and stores compute their places with the sizes of the call."""
    for op in operations_named(module, "memref.load"):
        memory, *indices = op.operands
        steps = _told_steps(memory)
        if steps:
            with ir.InsertionPoint(op), op.location:
                place = _place(indices, steps)
                found = emit("memref.load", [flattened(memory), place], op.result.type)
            op.result.replace_all_uses_with(found)
            op.erase()
    for op in operations_named(module, "memref.store"):
        value, memory, *indices = op.operands
        steps = _told_steps(memory)
        if steps:
            with ir.InsertionPoint(op), op.location:
                operands = [value, flattened(memory), _place(indices, steps)]
                ir.Operation.create("memref.store", operands=operands)
            op.erase()


def _told_steps(memory: ir.Value) -> list[int]:
    """Return the distances of elements in each dimension; none where all are known."""
    kind = ir.MemRefType(memory.type)
    if kind.rank < 2 or not has_static_layout(memory):
        return []
    steps = sized_strides(kind)
    return steps if any(isinstance(step, Size) for step in steps) else []


def _place(indices: Sequence[ir.Value], steps: Sequence[int]) -> ir.Value:
    parts = [integers.muli(each, index(step)) for each, step in zip(indices, steps, strict=True)]
    return plus(*parts)
