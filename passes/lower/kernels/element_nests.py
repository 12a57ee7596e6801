# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations that compute every element on its own, as passes move and join them."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.kernels.pieces import are_apart
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, is_linear, linear_nest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import is_scalar_code, repeat_body

Identity = tuple[ir.Value, int, tuple[int, ...]]


def elementwise_nest(op: ir.Operation) -> LinearNest | None:
    """Return an operation that computes element by element, and asks for no index; else None."""
    if op.name != "linalg.generic" or not is_linear(op):
        return None
    if not is_scalar_code(op.regions[0].blocks[0]):
        return None
    nest = linear_nest(op, flat=False)
    names = [view.operation.name for view in nest.body.operations]
    if nest.reductions or nest.indices or "memref.load" in names:
        return None
    return nest


def identity_of(access: BufferOperand) -> Identity:
    """Return what two accesses have in common that touch the same elements in the same order."""
    if access.is_scalar:
        return access.value, 0, ()
    return root(access.value), access.start, access.strides


def repeated(body: ir.Block, arguments: Sequence[ir.Value]) -> list[ir.Value]:
    """Repeat a body without linalg.index at the insertion point; return what it yields."""
    return repeat_body(body, arguments, _no_index)


def are_independent(first: LinearNest, second: LinearNest) -> bool:
    """Tell whether two nests may run in any order, or at once."""
    for one, other in ((first, second), (second, first)):
        written = {root(each.value) for each in one.outputs}
        if written & _read_by(other):
            return False
    return all(
        root(mine.value) != root(theirs.value) or are_apart([(first, mine), (second, theirs)])
        for mine in first.outputs
        for theirs in second.outputs
    )


def _read_by(nest: LinearNest) -> set[ir.Value]:
    """Return the memory that a nest reads, or looks elements up in."""
    found = {root(each.value) for each in nest.inputs if not each.is_scalar}
    for view in nest.body.operations:
        if view.operation.name == "memref.load":
            found.add(root(view.operation.operands[0]))
    return found


def _no_index(dimension: int) -> ir.Value:
    raise AssertionError(f"linalg.index of loop {dimension} in a body that has none")
