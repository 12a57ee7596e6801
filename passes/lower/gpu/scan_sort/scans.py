# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scans (cumulative sums, products …) along rows: threads share a row, tile after tile.

A thread combines contiguous elements, threads of a warp exchange what they have (butterflies: the
lower half of a group gives to the upper one), warps through shared memory (Blelloch, "Prefix Sums
and Their Applications", 1990). Short rows share a block. The order depends on the row's length
alone.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from functools import reduce
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.loop_bounds import constant_trips
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.block_reduce import butterfly
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_index,
    barrier,
    block_number,
    i32,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.loops.loop_threads import give_each, loops_of, shared_loops
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.scan_loop import Scan, scan_of

_MOST_THREADS = 1024
_SHORT_THREADS = 128  # of a block of several rows
EACH = 4
"""Contiguous elements of a thread, at least."""
_SEVERAL = ((16, 512), (8, 256))
"""More of them, and from which length on: threads exchange as much, whatever they have."""


@dataclass(frozen=True)
class RowScan:
    """Loops over rows around a scan along a row.

    Attributes:
        whole: all of them.
        rows: the loops over rows.
        scan: what is known of the one along a row.
        count: how many rows there are.
        threads: of a block, which takes a row, or several.
        lanes: threads of a warp.
    """

    whole: ir.Operation
    rows: tuple[ir.Operation, ...]
    scan: Scan
    count: int
    threads: int
    lanes: int

    @property
    def each(self) -> int:
        """Contiguous elements of a thread."""
        return elements_of_thread(self.scan.length)

    @property
    def team(self) -> int:
        """Threads that share a row."""
        enough = row_team(self.scan.length)
        return enough if enough <= min(self.lanes, self.threads) else self.threads

    @property
    def side_by_side(self) -> int:
        """Rows of a block."""
        return self.threads // self.team


def elements_of_thread(length: int) -> int:
    """Return how many contiguous elements of a row a thread takes at once."""
    fitting = (n for n, least in _SEVERAL if length >= least and length % n == 0)
    return next(fitting, EACH)


def row_team(length: int) -> int:
    """Return how many threads have as many elements of a row of `length`."""
    return 1 << (-(-length // elements_of_thread(length)) - 1).bit_length()


def plan_scan(whole: ir.Operation, device: GpuDevice) -> RowScan | None:
    """Return what is known of `whole`, loops on buffers; None where it is no scan of rows."""
    loops = loops_of(whole)
    rows = shared_loops(whole)
    inner = [each for each in loops if each not in rows and constant_trips(each) != 1]
    scan = scan_of(inner[0], whole) if len(inner) == 1 else None
    count = prod(constant_trips(each) or 1 for each in rows)
    if scan is None or count > device.grid:
        return None
    threads = min(row_team(scan.length), _MOST_THREADS, device.block_threads)
    if threads <= device.subgroup:
        threads = _SHORT_THREADS if threads * count > device.subgroup else device.subgroup
    return RowScan(whole, tuple(rows), scan, count, threads, device.subgroup)


def emit_scan(found: RowScan, shared: SharedMemory) -> LaunchShape:
    """Let blocks run loops over rows, which stay in place, for a launch of the returned shape.

    Args:
        found: the loops, inside the stage of their launch.
        shared: for what warps exchange.
    """
    scan, inside = found.scan, list[ir.Value]()

    def number() -> ir.Value:
        if found.side_by_side == 1:
            return block_number()
        own = arith.shrui(thread_number(), i32(found.team.bit_length() - 1))
        row = arith.addi(arith.muli(block_number(), i32(found.side_by_side)), own)
        if found.count % found.side_by_side == 0:
            return row
        # All threads take part in exchanges, those behind the last row for that one.
        last = i32(found.count - 1)
        inside.append(arith.cmpi(arith.CmpIPredicate.ule, row, last))
        return arith.minui(row, last)

    give_each(found.rows, found.whole, number)
    with scan.loop.location, ir.InsertionPoint(scan.loop):
        combiner = Combiner(scan.combine, scan.neutral)
        team = ThreadTeam(combiner, found.team, shared, found.each)
        _Block(scan, team, inside[0] if inside else None).emit()
    scan.loop.operands[1] = scan.loop.operands[0]  # it runs no more
    return LaunchShape(-(-found.count // found.side_by_side), found.threads)


class ThreadTeam:
    """Threads that share a row, a power of two: of a warp, or all of a block.

    Args:
        combiner: how elements are combined.
        threads: of the team.
        shared: for what warps exchange.
        each: contiguous elements of a thread.
    """

    def __init__(
        self, combiner: Combiner, threads: int, shared: SharedMemory, each: int = EACH
    ) -> None:
        self.threads, self.each = threads, each
        self._combiner = combiner
        self._lanes = shared.device.subgroup
        self._words = None
        if threads > self._lanes:
            self._words = shared.allocate(threads // self._lanes, combiner.type)
        self.number = arith.andi(thread_number(), i32(threads - 1))

    @property
    def tile(self) -> int:
        """Elements that the team takes at once."""
        return self.threads * self.each

    def await_others(self) -> None:
        """Wait until all have read what was exchanged last."""
        if self._words is not None:
            barrier()

    def running(
        self, elements: Sequence[ir.Value], before: ir.Value, *, is_inclusive: bool
    ) -> tuple[list[ir.Value], ir.Value]:
        """Combine the elements of a tile.

        Args:
            elements: those of the thread, contiguous.
            before: what there is before the tile.
            is_inclusive: whether each is part of its own value.

        Returns:
            What there is at each element, and what there is behind the tile.
        """
        combine = self._combiner.combine
        running = [elements[0]]
        for element in elements[1:]:
            running.append(combine(running[-1], element))
        ahead, total = self._exchange(running[-1])
        base = before if ahead is None else combine(before, ahead)
        values = [combine(base, each) for each in running]
        if not is_inclusive:
            values = [base, *values[:-1]]
        return values, combine(before, total)

    def _exchange(self, own: ir.Value) -> tuple[ir.Value | None, ir.Value]:
        """Return what threads with lower numbers have, combined, and what the team has."""
        if self.threads == 1:
            return None, own
        combine = self._combiner.combine
        ahead, total = self._combiner.start(), own
        for bit in range(min(self.threads, self._lanes).bit_length() - 1):
            other = butterfly(total, 1 << bit, self._lanes)
            is_upper = self._is_set(bit)
            ahead = arith.select(is_upper, combine(other, ahead), ahead)
            total = combine(total, other)
        if self._words is None:
            return ahead, total
        warp = arith.shrui(self.number, i32(self._lanes.bit_length() - 1))
        lane = arith.andi(self.number, i32(self._lanes - 1))
        with when(arith.cmpi(arith.CmpIPredicate.eq, lane, i32(0))):
            ir.Operation.create("memref.store", operands=[total, self._words, as_index(warp)])
        barrier()
        numbers = range(self.threads // self._lanes)
        totals = [emit("memref.load", [self._words, index(n)], own.type) for n in numbers]
        lower = self._combiner.start()
        for number, each in enumerate(totals):
            is_lower = arith.cmpi(arith.CmpIPredicate.ult, i32(number), warp)
            lower = arith.select(is_lower, combine(lower, each), lower)
        return combine(lower, ahead), reduce(combine, totals)

    def _is_set(self, bit: int) -> ir.Value:
        found = arith.andi(self.number, i32(1 << bit))
        return arith.cmpi(arith.CmpIPredicate.ne, found, i32(0))


class _Block:
    """The code of one thread for one row."""

    def __init__(self, scan: Scan, team: ThreadTeam, is_there: ir.Value | None) -> None:
        self._scan = scan
        self._team = team
        self._is_there = is_there

    def emit(self) -> None:
        """Emit the loop over tiles of the row."""
        tile, start = self._team.tile, self._scan.start
        if self._scan.length <= tile:
            self._tile(index(0), start)
            return
        built = scf.ForOp(index(0), index(self._scan.length), index(tile), [start])
        with ir.InsertionPoint(built.body):
            after = self._tile(built.induction_variable, built.inner_iter_args[0])
            self._team.await_others()  # before the words are written again
            scf.YieldOp([after])

    def _tile(self, first: ir.Value, before: ir.Value) -> ir.Value:
        """Emit one tile; returns what there is behind it, given what there is before it."""
        scan, neutral = self._scan, Combiner(self._scan.combine, self._scan.neutral).start()
        each = self._team.each
        own = arith.addi(first, arith.muli(as_index(self._team.number), index(each)))
        inside, known = self._places(own)
        elements = [
            found[scan.element]
            if there is None
            else arith.select(there, found[scan.element], neutral)
            for there, found in zip(inside, known, strict=True)
        ]
        values, after = self._team.running(elements, before, is_inclusive=scan.is_inclusive)
        whole = scan.length % each == 0
        for group in [range(each)] if whole else [[number] for number in range(each)]:
            conditions = [at for at in (inside[group[0]], self._is_there) if at is not None]
            with when(reduce(arith.andi, conditions)) if conditions else nullcontext():
                for number in group:
                    places = [known[number].get(v, v) for v in list(scan.store.operands)[1:]]
                    ir.Operation.create("memref.store", operands=[values[number], *places])
        return after

    def _places(
        self, own: ir.Value
    ) -> tuple[list[ir.Value | None], list[Mapping[ir.Value, ir.Value]]]:
        """Return, for each element of a thread, if it is inside, and what stands for values there.

        Where rows have whole groups of them, these are inside together, and loaded at once.
        """
        length, tile, each = self._scan.length, self._team.tile, self._team.each
        if length % tile == 0:
            places = [arith.addi(own, index(number)) for number in range(each)]
            return [None] * each, [self._copy(place) for place in places]
        if length % each == 0:
            last = index(length - each)
            there = arith.cmpi(arith.CmpIPredicate.ule, own, last)
            own = arith.minui(own, last)
            places = [arith.addi(own, index(number)) for number in range(each)]
            return [there] * each, [self._copy(place) for place in places]
        last = index(length - 1)
        places = [arith.addi(own, index(number)) for number in range(each)]
        inside = [arith.cmpi(arith.CmpIPredicate.ule, place, last) for place in places]
        return [*inside], [self._copy(arith.minui(place, last)) for place in places]

    def _copy(self, number: ir.Value) -> Mapping[ir.Value, ir.Value]:
        """Repeat what the loop does at iteration `number`, but combining and storing."""
        body = self._scan.loop.regions[0].blocks[0]
        known: dict[ir.Value, ir.Value] = {body.arguments[0]: number}
        combine, store = self._scan.combine, self._scan.store
        left = [combine, store, terminator(body)]
        if self._scan.carried is not None:
            left += [self._scan.carried]
            left += [use.owner.operation for use in self._scan.carried.result.uses]
        for view in body.operations:
            op = view.operation
            if op not in left:
                repeat(op, known)
        return known
