# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions on memory, and the fills that give their outputs the first value."""

from __future__ import annotations

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.loops.linear_nest import is_linear
from xyntra.passes.lower.loops.taken import NOTHING_TAKEN, Taken
from xyntra.passes.lower.loops.vector_body import is_vectorizable


def is_arithmetic_reduction(op: ir.Operation) -> bool:
    """Tell whether `op` is a linalg.generic that reduces into one output, by arithmetic alone."""
    if op.name != "linalg.generic" or "reduction" not in str(op.attributes["iterator_types"]):
        return False
    if op.attributes["operandSegmentSizes"][1] != 1 or not is_linear(op):
        return False
    body = op.regions[0].blocks[0]
    # In memory a boolean is a byte, in a vector a bit.
    kinds = [str(argument.type) for argument in body.arguments]
    return all(kind in ITEM_BYTES and kind != "i1" for kind in kinds) and is_vectorizable(body)


def is_fill(op: ir.Operation) -> bool:
    """Tell whether `op` writes one scalar everywhere in its output."""
    if op.name != "linalg.generic" or len(op.operands) > 2:
        return False
    inputs = list(op.operands)[:-1]
    if any(isinstance(value.type, ir.MemRefType) for value in inputs):
        return False
    body = op.regions[0].blocks[0]
    if len(list(body.operations)) != 1:
        return False
    yielded = terminator(body).operands[0]
    return yielded != body.arguments[len(inputs)] and "reduction" not in str(
        op.attributes["iterator_types"]
    )


def initial_of(fill: ir.Operation) -> ir.Value:
    """Return the scalar that a fill writes everywhere."""
    block = fill.regions[0].blocks[0]
    value = terminator(block).operands[0]
    return fill.operands[0] if value == block.arguments[0] else value


def fill_before(generic: ir.Operation, taken: Taken = NOTHING_TAKEN) -> ir.Operation | None:
    """Return the fill of `generic`'s output that directly precedes it, as far as memory goes."""
    output = generic.operands[-1]
    found = None
    for op in taken.left(generic.parent.regions[0].blocks[0]):
        if op == generic:
            return found
        if taken.is_nest(op) and is_fill(op) and op.operands[-1] == output:
            found = op
        elif found is not None and _may_touch_memory(op):
            found = None
    return None


def _may_touch_memory(op: ir.Operation) -> bool:
    return op.name not in ("arith.constant", "memref.alloc") and not op.name.startswith(
        ("memref.subview", "memref.expand", "memref.collapse", "memref.reinterpret")
    )
