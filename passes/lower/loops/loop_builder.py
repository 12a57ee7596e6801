# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builders for loops over flat buffers."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.shared_constants import integer_constant

Position = dict[int, ir.Value]
"""The current iteration of some loops of a nest, by the number of the loop."""


def index(number: int) -> ir.Value:
    """Return a constant."""
    return integer_constant(0, number)


def plus(first: ir.Value, *others: ir.Value) -> ir.Value:
    """Return a sum."""
    for other in others:
        first = integers.addi(first, other)
    return first


def tile_start(tile: ir.Value, size: int, extent: int) -> ir.Value:
    """Return the first element of a tile; the last tile moves back to where it fits."""
    start = integers.muli(tile, index(size))
    return start if extent % size == 0 else integers.minsi(start, index(extent - size))


def carrying_loop(extent: int | ir.Value, carried: Sequence[ir.Value]) -> scf.ForOp:
    """Return a loop from 0 to `extent` that hands `carried` on; its body is empty."""
    end = index(extent) if isinstance(extent, int) else extent
    return scf.ForOp(index(0), end, index(1), list(carried))


PARALLEL = "xyntra.parallel"
"""Unit attribute of a loop whose iterations neither read nor write what another one writes."""


@contextmanager
def loop(extent: int | ir.Value, *, parallel: bool = False) -> Iterator[ir.Value]:
    """Build a loop from 0 to `extent`; what is emitted inside becomes its body.

    Args:
        extent: the number of iterations.
        parallel: the iterations are independent, and may run at the same time.
    """
    built = carrying_loop(extent, [])
    if parallel:
        built.operation.attributes[PARALLEL] = ir.UnitAttr.get()
    with ir.InsertionPoint(built.body):
        yield built.induction_variable
        scf.YieldOp([])


def nested_loops(
    loops: Sequence[tuple[int, int | ir.Value]],
    position: Position,
    body: Callable[[Position], None],
    *,
    parallel: bool = False,
) -> None:
    """Build loops, given as key and extent, outermost first; `body` emits what is inside.

    With `parallel`, the iterations of all of them together are independent.
    """
    if not loops:
        body(position)
        return
    key, extent = loops[0]
    with loop(extent, parallel=parallel) as step:
        nested_loops(loops[1:], position | {key: step}, body, parallel=parallel)


def offset(access: BufferOperand, position: Position) -> ir.Value:
    """Return the element of `access` at `position`; loops that it lacks stand at 0."""
    return offset_along(access.strides, position, access.offset)


def offset_along(strides: Sequence[int], position: Position, first: int = 0) -> ir.Value:
    """Return how far `position` is from `first`, given how far one step of each loop moves."""
    total = index(first)
    for number, value in position.items():
        if strides[number]:
            total = integers.addi(total, integers.muli(value, index(strides[number])))
    return total


def load(access: BufferOperand, place: ir.Value) -> ir.Value:
    """Return one element."""
    element = access.element_type
    return emit("memref.load", [access.value, place], element)


def store(value: ir.Value, access: BufferOperand, place: ir.Value) -> None:
    """Write one element."""
    ir.Operation.create("memref.store", operands=[value, access.value, place])
