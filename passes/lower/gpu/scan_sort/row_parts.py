# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running sums and their like along few long rows: several blocks share a row.

A first launch combines the elements of each part, a second one starts each part from what the parts
before it have. The order depends on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.loop_bounds import constant_trips, number_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.block_reduce import block_reduce
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    as_index,
    delinearize,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.loops.loop_copies import computed_again
from xyntra.passes.lower.gpu.loops.loop_threads import block_loop, loops_of
from xyntra.passes.lower.gpu.scan_sort.scans import EACH, RowScan, ThreadTeam
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.memrefs import allocate

_THREADS = 256
_MIN_LENGTH = 1 << 14  # shorter rows are done before a second launch has begun
_MOST_PARTS = 128  # a thread of a block for each
_BLOCKS = 2  # of each multiprocessor
_Known = dict[ir.Value, ir.Value]


@dataclass(frozen=True)
class RowParts:
    """A division of rows among blocks.

    Attributes:
        rows: the scan.
        parts: of a row, each of a block.
        part: elements of a part, a multiple of a block's tile.
    """

    rows: RowScan
    parts: int
    part: int


def plan_parts(found: RowScan, device: GpuDevice) -> RowParts | None:
    """Return how blocks should share the rows of a scan; None where each is for a single one."""
    length = found.scan.length
    if length < _MIN_LENGTH or 2 * found.count > device.multiprocessors:
        return None
    tiles = -(-length // (_THREADS * EACH))
    parts = min(tiles, _MOST_PARTS, _BLOCKS * device.multiprocessors // found.count)
    part = -(-tiles // parts)
    return RowParts(found, -(-tiles // part), part * _THREADS * EACH)


def emit_parts(plan: RowParts, shared: Callable[[], SharedMemory]) -> None:
    """Emit two loops over blocks.

    Args:
        plan: how blocks share rows.
        shared: makes the shared memory of a launch.
    """
    blocks = plan.parts * plan.rows.count
    totals = allocate(blocks, plan.rows.scan.combine.results[0].type)
    for work in (_Part.total, _Part.store):
        with block_loop(blocks, _THREADS) as block:
            work(_Part(plan, totals, block, shared()))


class _Part:
    """The code of one thread of a block for one part of a row."""

    def __init__(
        self, plan: RowParts, totals: ir.Value, block: ir.Value, shared: SharedMemory
    ) -> None:
        self._plan = plan
        self._totals = totals
        self._block = block
        self._shared = shared
        self._scan = plan.rows.scan
        self._combiner = Combiner(self._scan.combine, self._scan.neutral)
        self._thread = thread_number()
        row, self._part = (
            arith.divui(block, index(plan.parts)),
            arith.remui(block, index(plan.parts)),
        )
        extents = [(place, constant_trips(each) or 0) for place, each in enumerate(plan.rows.rows)]
        position = delinearize(row, extents)
        self._known: _Known = {
            number_of(each): position[place] for place, each in enumerate(plan.rows.rows)
        }
        for each in loops_of(plan.rows.whole):
            if constant_trips(each) == 1:
                self._known[number_of(each)] = index(0)

    def total(self) -> None:
        """Combine the elements of the part."""
        own = as_index(self._thread)

        def tile(first: ir.Value, carried: ir.Value) -> ir.Value:
            start = arith.addi(first, own)
            places = [arith.addi(start, index(each * _THREADS)) for each in range(EACH)]
            values = [value for _, _, value in map(self._element, places)]
            return reduce(self._combiner.combine, values, carried)

        partial = self._tiles(self._combiner.start(), tile)
        whole = block_reduce(partial, self._combiner, _THREADS, self._shared)
        with when(arith.cmpi(arith.CmpIPredicate.eq, self._thread, i32(0))):
            ir.Operation.create("memref.store", operands=[whole, self._totals, self._block])

    def store(self) -> None:
        """Store what there is at every element of the part."""
        before = self._before()
        team = ThreadTeam(self._combiner, _THREADS, self._shared)
        own = arith.muli(as_index(self._thread), index(EACH))

        def tile(first: ir.Value, carried: ir.Value) -> ir.Value:
            start = arith.addi(first, own)
            elements = [self._element(arith.addi(start, index(each))) for each in range(EACH)]
            given = [value for _, _, value in elements]
            inclusive = self._scan.is_inclusive
            values, after = team.running(given, carried, is_inclusive=inclusive)
            for (inside, known, _), value in zip(elements, values, strict=True):
                with when(inside):
                    self._store(known, value)
            team.await_others()
            return after

        self._tiles(before, tile)

    def _tiles(self, start: ir.Value, tile: Callable[[ir.Value, ir.Value], ir.Value]) -> ir.Value:
        """Emit the loop over the tiles of the part; returns what is carried behind it."""
        first = arith.muli(self._part, index(self._plan.part))
        built = scf.ForOp(index(0), index(self._plan.part), index(_THREADS * EACH), [start])
        with ir.InsertionPoint(built.body):
            place = arith.addi(first, built.induction_variable)
            scf.YieldOp([tile(place, built.inner_iter_args[0])])
        return built.results[0]

    def _element(self, place: ir.Value) -> tuple[ir.Value, _Known, ir.Value]:
        """Load an element.

        Returns:
            Whether it is inside of the row, what stands for values of the loops there, and the
            element, or the neutral one behind the end.
        """
        inside = arith.cmpi(arith.CmpIPredicate.ult, place, index(self._scan.length))
        known = dict(self._known)
        known[number_of(self._scan.loop)] = arith.minui(place, index(self._scan.length - 1))
        element = computed_again(self._scan.element, known, self._plan.rows.whole)
        return inside, known, arith.select(inside, element, self._combiner.start())

    def _store(self, known: _Known, value: ir.Value) -> None:
        memory, *indices = list(self._scan.store.operands)[1:]
        there = [computed_again(each, known, self._plan.rows.whole) for each in indices]
        ir.Operation.create("memref.store", operands=[value, memory, *there])

    def _before(self) -> ir.Value:
        """Return what there is before the part: a thread for each part before it."""
        start = computed_again(self._scan.start, dict(self._known), self._plan.rows.whole)
        own = as_index(self._thread)
        first = arith.subi(self._block, self._part)
        place = arith.addi(first, arith.minui(own, index(self._plan.parts - 1)))
        found = emit("memref.load", [self._totals, place], self._combiner.type)
        is_before = arith.cmpi(arith.CmpIPredicate.ult, own, self._part)
        found = arith.select(is_before, found, self._combiner.start())
        total = block_reduce(found, self._combiner, _THREADS, self._shared)
        return self._combiner.combine(start, total)
