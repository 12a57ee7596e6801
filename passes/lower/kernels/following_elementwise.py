# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the elementwise operation that takes up a contraction's result."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.loops.linear_nest import is_linear
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.taken import NOTHING_TAKEN, Taken
from xyntra.passes.lower.loops.vector_body import is_vectorizable

_PASSIVE = MEMREF_VIEWS | {"arith.constant", "memref.alloc"}


def following_elementwise(
    contraction: ir.Operation, taken: Taken = NOTHING_TAKEN
) -> ir.Operation | None:
    """Return the first operation that reads what `contraction` writes.

    None where `contraction` may not move there, or where that operation is more than arithmetic on
    single elements of static buffers.
    """
    result = root(contraction.operands[-1])
    inputs = [root(value) for value in _memory(contraction)[:-1]]
    for op in _behind(contraction, taken):
        if op.name in _PASSIVE:
            continue
        if not taken.is_nest(op):
            return None
        if any(root(value) == result for value in _touched(op)):
            return op if _is_elementwise(op) else None
        first_output = op.attributes["operandSegmentSizes"][0]
        if any(root(value) in inputs for value in list(op.operands)[first_output:]):
            return None
    return None


def _behind(op: ir.Operation, taken: Taken) -> Iterator[ir.Operation]:
    passed = False
    for other in taken.left(op.parent.regions[0].blocks[0]):
        if passed:
            yield other
        passed = passed or other == op


def _memory(op: ir.Operation) -> list[ir.Value]:
    return [value for value in op.operands if isinstance(value.type, ir.MemRefType)]


def _touched(op: ir.Operation) -> list[ir.Value]:
    loads = operations_named(op, "memref.load")
    return [*_memory(op), *(load.operands[0] for load in loads)]


def _is_elementwise(op: ir.Operation) -> bool:
    if "reduction" in str(op.attributes["iterator_types"]) or not is_linear(op):
        return False
    body = op.regions[0].blocks[0]
    outputs = list(body.arguments)[op.attributes["operandSegmentSizes"][0] :]
    if any(len(list(argument.uses)) for argument in outputs):
        return False
    return is_vectorizable(body)
