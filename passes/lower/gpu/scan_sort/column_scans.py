# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running sums and their like along columns: threads side by side take columns.

Threads above one another take adjacent elements of a column, exchange what these come to in
shared memory, and go on to the next tile. Where columns are few, blocks share them: a first launch
combines the elements of each part, a second one starts each part from what the parts before it have
(G. Blelloch, "Prefix sums and their applications", 1990). The order depends on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.loop_bounds import constant_trips, number_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_index,
    barrier,
    delinearize,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.loops.loop_copies import computed_again
from xyntra.passes.lower.gpu.loops.loop_threads import block_loop
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.scan_loop import Scan

_THREADS = 256
_MOST_BESIDE = 32
_MOST_ABOVE = 32
_EACH = 16  # contiguous elements of a thread, whose loads are on their way together
_FEW_TILES = 4  # are done before a second launch has begun
_MOST_PARTS = 128
_TOGETHER = 8  # sums of parts that a thread loads together
_BLOCKS = 4  # of each multiprocessor: enough for all
_Known = dict[ir.Value, ir.Value]


@dataclass(frozen=True)
class Columns:
    """A scan along columns.

    Attributes:
        whole: the loops.
        scan: what is known of the one along a column.
        columns: the others, the one that walks through memory last.
        units: loops of one iteration.
    """

    whole: ir.Operation
    scan: Scan
    columns: tuple[ir.Operation, ...]
    units: tuple[ir.Operation, ...]

    @property
    def count(self) -> int:
        """Return how many columns there are."""
        return prod(constant_trips(each) or 0 for each in self.columns)


@dataclass(frozen=True)
class ColumnPlan:
    """A division of columns among threads.

    Attributes:
        beside: threads side by side, each with a column.
        above: threads of a block that share a column.
        strips: of `beside` columns.
        parts: of a column, each of a block.
        part: elements of a part, a multiple of `tile`.
    """

    beside: int
    above: int
    strips: int
    parts: int
    part: int

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return self.beside * self.above

    @property
    def tile(self) -> int:
        """Elements of a column that a block takes at once."""
        return self.above * _EACH


def plan_columns(count: int, length: int, device: GpuDevice) -> ColumnPlan:
    """Return how threads should share `count` columns of `length` elements."""
    beside = min(_MOST_BESIDE, _power(count))
    above = min(_MOST_ABOVE, _THREADS // beside, _power(-(-length // _EACH)))
    above = max(above, device.subgroup // beside)
    while beside * above < _THREADS // 2 and count > 2 * beside * _BLOCKS * device.multiprocessors:
        beside *= 2
    strips, tiles = -(-count // beside), -(-length // (above * _EACH))
    parts = 1
    if tiles > _FEW_TILES and strips < 2 * device.multiprocessors:
        parts = min(tiles, _MOST_PARTS, -(-_BLOCKS * device.multiprocessors // strips))
    part = -(-tiles // parts)
    return ColumnPlan(beside, above, strips, -(-tiles // part), part * above * _EACH)


def _power(number: int) -> int:
    return 1 << (number - 1).bit_length()


def emit_column_scan(found: Columns, plan: ColumnPlan, shared: Callable[[], SharedMemory]) -> None:
    """Emit loops over blocks, one where no column has several parts, else two.

    Args:
        found: the scan.
        plan: how threads share it.
        shared: makes the shared memory of a launch.
    """
    if plan.parts == 1:
        _Launch(found, plan, None).emit(shared, _Launch.store)
        return
    totals = allocate(plan.parts * found.count, found.scan.combine.results[0].type)
    _Launch(found, plan, totals).emit(shared, _Launch.total)
    _Launch(found, plan, totals).emit(shared, _Launch.store)


class _Launch:
    """The code of one thread of a block for its part of a column."""

    def __init__(self, found: Columns, plan: ColumnPlan, totals: ir.Value | None) -> None:
        self._found = found
        self._plan = plan
        self._totals = totals
        self._combiner = Combiner(found.scan.combine, found.scan.neutral)

    def emit(self, shared: Callable[[], SharedMemory], work: Callable[[_Launch], None]) -> None:
        """Emit a loop over blocks that do `work`."""
        plan, count = self._plan, self._found.count
        with block_loop(plan.strips * plan.parts, plan.threads) as block:
            self._words = shared().allocate(plan.threads, self._combiner.type)
            self._part = arith.divui(block, index(plan.strips))
            strip = arith.remui(block, index(plan.strips))
            thread = thread_number()
            self._thread = as_index(thread)
            beside = as_index(arith.andi(thread, i32(plan.beside - 1)))
            self._beside = beside
            self._above = as_index(arith.shrui(thread, i32(plan.beside.bit_length() - 1)))
            column = arith.addi(arith.muli(strip, index(plan.beside)), beside)
            self._is_there = arith.cmpi(arith.CmpIPredicate.ult, column, index(count))
            self._column = arith.minui(column, index(count - 1))
            self._known: _Known = dict(_numbers(self._found.columns, self._column))
            self._known |= {number_of(each): index(0) for each in self._found.units}
            work(self)

    def total(self) -> None:
        """Combine the elements of the part."""
        combine = self._combiner.combine

        def tile(first: ir.Value, carried: ir.Value) -> ir.Value:
            return reduce(combine, [value for _, _, value in self._elements(first)], carried)

        own = self._tiles(self._combiner.start(), tile)
        whole = reduce(combine, self._exchange(own))
        is_first = arith.cmpi(arith.CmpIPredicate.eq, self._above, index(0))
        with when(arith.andi(is_first, self._is_there)):
            self._store_total(whole)

    def store(self) -> None:
        """Store what there is at every element of the part."""
        self._tiles(self._before(), self._store_tile)

    def _tiles(self, start: ir.Value, tile: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """Emit the loop over the tiles of the part; returns what is carried behind it."""
        plan = self._plan
        first = arith.muli(self._part, index(plan.part))
        if plan.part == plan.tile:
            return tile(first, start)
        built = scf.ForOp(index(0), index(plan.part), index(plan.tile), [start])
        with ir.InsertionPoint(built.body):
            place = arith.addi(first, built.induction_variable)
            scf.YieldOp([tile(place, built.inner_iter_args[0])])
        return built.results[0]

    def _store_tile(self, first: ir.Value, before: ir.Value) -> ir.Value:
        combine, scan = self._combiner.combine, self._found.scan
        elements = self._elements(first)
        running = [elements[0][2]]
        for _, _, element in elements[1:]:
            running.append(combine(running[-1], element))
        totals = self._exchange(running[-1])
        base = before
        for number, each in enumerate(totals[:-1]):
            is_lower = arith.cmpi(arith.CmpIPredicate.ult, index(number), self._above)
            base = arith.select(is_lower, combine(base, each), base)
        values = [combine(base, each) for each in running]
        if not scan.is_inclusive:
            values = [base, *values[:-1]]
        for (inside, known, _), value in zip(elements, values, strict=True):
            with when(arith.andi(inside, self._is_there)):
                memory, *indices = list(scan.store.operands)[1:]
                there = [computed_again(each, known, self._found.whole) for each in indices]
                ir.Operation.create("memref.store", operands=[value, memory, *there])
        return reduce(combine, totals, before)

    def _elements(self, first: ir.Value) -> list[tuple[ir.Value, _Known, ir.Value]]:
        """Load the thread's elements of a tile.

        Returns:
            Whether each is inside of the column, what stands for values of the loops there, and the
            element, or the neutral one behind the end.
        """
        scan, whole = self._found.scan, self._found.whole
        own = arith.addi(first, arith.muli(self._above, index(_EACH)))
        found = []
        for number in range(_EACH):
            place = arith.addi(own, index(number))
            inside = arith.cmpi(arith.CmpIPredicate.ult, place, index(scan.length))
            known = dict(self._known)
            known[number_of(scan.loop)] = arith.minui(place, index(scan.length - 1))
            element = computed_again(scan.element, known, whole)
            neutral = self._combiner.start()
            found.append((inside, known, arith.select(inside, element, neutral)))
        return found

    def _exchange(self, own: ir.Value) -> list[ir.Value]:
        """Return what all threads of the column have, the first one's first."""
        plan = self._plan
        if plan.above == 1:
            return [own]
        ir.Operation.create("memref.store", operands=[own, self._words, self._thread])
        barrier()
        places = [arith.addi(self._beside, index(n * plan.beside)) for n in range(plan.above)]
        found = [emit("memref.load", [self._words, place], own.type) for place in places]
        barrier()  # before the words are written again
        return found

    def _before(self) -> ir.Value:
        """Return what there is before the part."""
        start = computed_again(self._found.scan.start, {}, self._found.whole)
        if self._totals is None:
            return start
        plan = self._plan
        step = plan.above * _TOGETHER
        built = scf.ForOp(index(0), self._part, index(step), [self._combiner.start()])
        with ir.InsertionPoint(built.body):
            first = arith.addi(built.induction_variable, self._above)
            numbers = [arith.addi(first, index(n * plan.above)) for n in range(_TOGETHER)]
            totals = [self._load_total(number) for number in numbers]
            scf.YieldOp([reduce(self._combiner.combine, totals, built.inner_iter_args[0])])
        return reduce(self._combiner.combine, self._exchange(built.results[0]), start)

    def _load_total(self, part: ir.Value) -> ir.Value:
        """Return what a part comes to; the neutral element for this one and those behind it."""
        is_before = arith.cmpi(arith.CmpIPredicate.ult, part, self._part)
        place = self._place_of(arith.minui(part, index(self._plan.parts - 1)))
        found = emit("memref.load", [self._totals, place], self._combiner.type)
        return arith.select(is_before, found, self._combiner.start())

    def _store_total(self, value: ir.Value) -> None:
        place = self._place_of(self._part)
        ir.Operation.create("memref.store", operands=[value, self._totals, place])

    def _place_of(self, part: ir.Value) -> ir.Value:
        return arith.addi(arith.muli(part, index(self._found.count)), self._column)


def _numbers(loops: Sequence[ir.Operation], column: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
    """Return the numbers of `loops` with what stands for them in a column."""
    extents = [(place, constant_trips(each) or 0) for place, each in enumerate(loops)]
    position = delinearize(column, extents)
    return [(number_of(each), position[place]) for place, each in enumerate(loops)]
