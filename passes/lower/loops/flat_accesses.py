# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the places of elements in memory whose strides or starts a kernel is told.

They are part of the type of a memref, from which code would have the numbers of a sample.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.sizes.session import sized, sized_strides
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.memrefs import RESHAPES, flattened, has_static_layout

__all__ = ["ACCESSES", "flatten_accesses"]

ACCESSES = {
    "memref.load": 0,
    "memref.store": 1,
    "memref.atomic_rmw": 1,
    "vector.load": 0,
    "vector.store": 1,
}
"""By operation: operands before the memory, behind which are indices."""


def flatten_accesses(module: ir.Operation) -> None:
    """Let accesses to memory with strides that are sizes have one index."""
    for op in operations_named(module, *ACCESSES):
        memory = op.operands[ACCESSES[op.name]]
        if not has_static_layout(memory):
            continue
        if _has_sizes(memory):
            _flatten(op, sized_strides(ir.MemRefType(memory.type)))


def _has_sizes(memory: ir.Value) -> bool:
    """Tell whether strides are sizes, or its start, or the shapes of what it is a view of.

    A view with other dimensions would be looked through, and the index divided by these.
    """
    kind = ir.MemRefType(memory.type)
    if isinstance(sized(kind.get_strides_and_offset()[1]), Size):
        return True
    steps = sized_strides(kind)
    while not any(isinstance(each, Size) for each in steps):
        owner = memory.owner
        if isinstance(owner, ir.Block) or owner.name not in RESHAPES:
            return False
        memory = owner.operands[0]
        steps = [sized(each) for each in ir.MemRefType(memory.type).shape]
    return True


def _flatten(op: ir.Operation, steps: Sequence[int]) -> None:
    first = ACCESSES[op.name]
    memory, *indices = list(op.operands)[first:]
    with op.location, ir.InsertionPoint(op):
        total = index(0)
        for position, step in zip(indices, steps, strict=True):
            part = position if step == 1 else integers.muli(position, index(step))
            total = integers.addi(total, part)
        operands = [*list(op.operands)[:first], flattened(memory), total]
        attributes = {name: op.attributes[name] for name in op.attributes}
        kinds = [each.type for each in op.results]
        new = ir.Operation.create(op.name, results=kinds, operands=operands, attributes=attributes)
    for old, result in zip(op.results, new.results, strict=True):
        old.replace_all_uses_with(result)
    op.erase()
