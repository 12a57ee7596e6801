# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions whose outputs are contiguous in memory: threads side by side take columns.

A block covers a strip of columns. Threads above one another take every so-many-th element of the
reduction, several on their way together; what they have meets in shared memory, in a fixed order.
The first of them does what is left to do to single outputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, reduce
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_index,
    barrier,
    block_number,
    delinearize,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import lanes_in_memory, vector_of
from xyntra.passes.lower.gpu.reductions.column_group import ColumnGroup
from xyntra.passes.lower.loops.index_vectors import index_vectors
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, index, load, offset, store
from xyntra.passes.lower.loops.memrefs import is_private, root
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of, side_by_side

_THREADS = 256
_MOST_ABOVE = 32
_TOGETHER = 8  # elements of a column that a thread loads at once
_FEW_THREADS = 64 * _THREADS  # for fewer, narrower vectors occupy more multiprocessors


@dataclass(frozen=True)
class Strips:
    """A division of columns among threads.

    Attributes:
        columns: number and extent of the loops over outputs, the last one over vectors.
        length: elements that are reduced to one.
        lanes: columns of a vector.
        above: threads that share a column.
    """

    columns: tuple[tuple[int, int], ...]
    length: int
    lanes: int
    above: int

    @property
    def vectors(self) -> int:
        """Vectors of columns."""
        return prod(extent for _, extent in self.columns)

    @property
    def beside(self) -> int:
        """Threads side by side."""
        return _THREADS // self.above


def emit_columns(
    group: ColumnGroup, generics: Sequence[ir.Operation], strips: Strips, shared: SharedMemory
) -> LaunchShape:
    """Emit `group` for a launch of the returned shape.

    Args:
        group: the nests.
        generics: the operations that they come from, and that will be removed.
        strips: how threads share columns.
        shared: for what threads exchange.
    """
    thread = thread_number()
    beside = arith.andi(thread, i32(strips.beside - 1))
    above = arith.shrui(thread, i32(strips.beside.bit_length() - 1))
    number = arith.addi(arith.muli(block_number(), i32(strips.beside)), beside)
    last = i32(strips.vectors - 1)
    is_there = arith.cmpi(arith.CmpIPredicate.ule, number, last)
    position = delinearize(arith.minui(number, last), strips.columns)
    inner = strips.columns[-1][0]
    position[inner] = arith.muli(position[inner], index(strips.lanes))
    found = _Column(group, strips, position, above).combined()
    total: Callable[[int], ir.Value] = partial(lane_of, found)
    if strips.above > 1:
        total = _meet(found, group, strips, shared)
        is_first = arith.cmpi(arith.CmpIPredicate.eq, above, i32(0))
        is_there = arith.andi(is_there, is_first)
    with when(is_there):
        for lane in range(strips.lanes):
            place = position | {inner: arith.addi(position[inner], index(lane))}
            _Output(group, generics, place).emit(total(lane))
    return LaunchShape(-(-strips.vectors // strips.beside), _THREADS)


def column_strips(group: ColumnGroup, device: GpuDevice) -> Strips:
    """Return how threads should share the columns of `group`."""
    lanes, length = _most_lanes(group), prod(extent for _, extent in group.rows)
    outputs = prod(extent for _, extent in group.columns)
    while lanes > 1 and outputs // lanes * -(-length // _TOGETHER) < _FEW_THREADS:
        lanes //= 2
    vectors, above = outputs // lanes, 1
    while (
        above < _MOST_ABOVE
        and above * 2 * _TOGETHER <= length
        and vectors * above < 2 * device.multiprocessors * _THREADS
    ):
        above *= 2
    return strips_of(group, lanes, above)


def strips_refusal(group: ColumnGroup, lanes: int, above: int) -> str | None:
    """Return why threads cannot share columns so; None where they can."""
    most = _most_lanes(group)
    if lanes < 1 or most % lanes:
        return f"takes vectors whose length divides {most}, not {lanes}"
    allowed = [1 << bit for bit in range(_MOST_ABOVE.bit_length())]
    return None if above in allowed else f"lets {allowed} threads share a column, not {above}"


def strips_of(group: ColumnGroup, lanes: int, above: int) -> Strips:
    """Return columns shared by vectors of `lanes`, and `above` threads each."""
    inner, extent = group.columns[-1]
    columns = (*group.columns[:-1], (inner, extent // lanes))
    return Strips(columns, prod(extent for _, extent in group.rows), lanes, above)


def _most_lanes(group: ColumnGroup) -> int:
    """Return how many contiguous columns a thread can load at once."""
    inner = group.columns[-1][0]
    moving = next(each for each in group.reduction.inputs if each.strides[inner] == 1)
    # Results are written one by one: only what is read has to fit.
    return lanes_in_memory(replace(group.reduction, outputs=(moving,)), inner)


@dataclass(frozen=True)
class _Column:
    """The part of one thread in a vector of columns."""

    group: ColumnGroup
    strips: Strips
    position: Position
    above: ir.Value

    def combined(self) -> ir.Value:
        """Return what the thread combines."""
        length, step = self.strips.length, self.strips.above * _TOGETHER
        whole = length // step * step
        value = broadcast(self.group.combiner.start(), self.strips.lanes)
        if isinstance(length, Size) or whole:
            built = scf.ForOp(i32(0), i32(whole), i32(step), [value])
            with ir.InsertionPoint(built.body):
                scf.YieldOp([self._several(built.induction_variable, built.inner_iter_args[0])])
            value = built.results[0]
        if isinstance(length, Size):
            rest = scf.ForOp(i32(whole), i32(length), i32(self.strips.above), [value])
            with ir.InsertionPoint(rest.body):
                scf.YieldOp([self._last(rest.induction_variable, rest.inner_iter_args[0])])
            return rest.results[0]
        for first in range(whole, length, self.strips.above):
            value = self._last(i32(first), value)
        return value

    def _several(self, first: ir.Value, carried: ir.Value) -> ir.Value:
        start = arith.addi(first, self.above)
        numbers = [arith.addi(start, i32(each * self.strips.above)) for each in range(_TOGETHER)]
        for values in [self._values(number) for number in numbers]:
            carried = self._add(values, carried)
        return carried

    def _last(self, first: ir.Value, value: ir.Value) -> ir.Value:
        """Combine an element behind the last whole step, where there is one for this thread."""
        number, last = arith.addi(self.above, first), i32(self.strips.length - 1)
        is_there = arith.cmpi(arith.CmpIPredicate.ule, number, last)
        after = self._add(self._values(arith.minui(number, last)), value)
        return arith.select(is_there, after, value)

    def _values(self, number: ir.Value) -> dict[ir.Value, ir.Value]:
        """Return what stands for the inputs, and for numbers of elements, in the body."""
        inside = self.position | delinearize(number, self.group.rows)
        nest, inner, lanes = self.group.reduction, self.strips.columns[-1][0], self.strips.lanes
        vectors = [vector_of(each, inner, lanes, inside) for each in nest.inputs]
        known = dict(zip(nest.body.arguments, vectors, strict=False))
        return known | index_vectors(nest, inside, inner, lanes)

    def _add(self, values: Mapping[ir.Value, ir.Value], carried: ir.Value) -> ir.Value:
        body = self.group.reduction.body
        known = {**values, body.arguments[len(self.group.reduction.inputs)]: carried}
        ((after,),) = side_by_side(body, [known], self.strips.lanes)
        return after


def _meet(
    vector: ir.Value, group: ColumnGroup, strips: Strips, shared: SharedMemory
) -> Callable[[int], ir.Value]:
    """Let threads above one another meet.

    Returns:
        What gives, in the first of them, the combination of what all have in a lane.
    """
    combiner, thread = group.combiner, as_index(thread_number())
    words = shared.allocate(_THREADS * strips.lanes, combiner.type)
    # Lane by lane, so that neighbouring threads touch contiguous elements.
    starts = [arith.addi(thread, index(lane * _THREADS)) for lane in range(strips.lanes)]
    for lane, start in enumerate(starts):
        ir.Operation.create("memref.store", operands=[lane_of(vector, lane), words, start])
    barrier()

    def total(lane: int) -> ir.Value:
        steps = [index(each * strips.beside) for each in range(strips.above)]
        places = [arith.addi(starts[lane], step) for step in steps]
        values = [emit("memref.load", [words, place], combiner.type) for place in places]
        return reduce(combiner.combine, values)

    return total


class _Output:
    """The nests of a group for one output."""

    def __init__(
        self, group: ColumnGroup, generics: Sequence[ir.Operation], position: Position
    ) -> None:
        self._group = group
        self._generics = generics
        self._position = position
        self._known: dict[ir.Value, ir.Value] = {}

    def emit(self, total: ir.Value) -> None:
        """Emit all nests, of which the reduction has found `total`."""
        for nest in self._group.before:
            self._single(nest)
        output = self._group.reduction.outputs[0]
        self._keep(output, self._group.combiner.combine(self._value(output), total))
        for nest in self._group.after:
            self._single(nest)

    def _single(self, nest: LinearNest) -> None:
        accesses = nest.accesses if nest.reads_outputs else nest.inputs
        results = emit_on_scalars(nest.body, [self._value(each) for each in accesses])
        for access, result in zip(nest.outputs, results, strict=True):
            self._keep(access, result)

    def _value(self, access: BufferOperand) -> ir.Value:
        if access.is_scalar:
            return access.value
        if root(access.value) in self._known:
            return self._known[root(access.value)]
        return load(access, offset(access, self._position))

    def _keep(self, access: BufferOperand, value: ir.Value) -> None:
        self._known[root(access.value)] = value
        if not is_private(root(access.value), self._generics):
            store(value, access, offset(access, self._position))
