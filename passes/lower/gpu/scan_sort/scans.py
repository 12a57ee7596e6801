# SPDX-License-Identifier: MIT OR Apache-2.0
"""Running sums and their like along rows: a block a row, from one tile of it to the next.

A thread combines neighbouring elements, threads of a warp exchange what they have (butterflies: the
lower half of a group gives to the upper one), warps through shared memory (Blelloch, "Prefix Sums
and Their Applications", 1990). The order depends on the row's length alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.emit.block_reduce import butterfly
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
from xyntra.passes.lower.gpu.scan_sort.scan_loop import Scan, scan_of
from xyntra.passes.lower.nests.kernel_function import terminator
from xyntra.passes.lower.nests.loop_bounds import constant_trips
from xyntra.passes.lower.nests.loop_builder import index
from xyntra.passes.lower.nests.scalar_nest import repeat

_SHORT = 64  # elements: shorter rows are for single threads
_MOST_THREADS = 1024
_EACH = 4  # neighbours of a thread


@dataclass(frozen=True)
class RowScan:
    """Loops over rows around a scan along a row.

    Attributes:
        whole: all of them.
        rows: the loops over rows.
        scan: what is known of the one along a row.
        count: how many rows there are.
        threads: of a block, which takes a row.
    """

    whole: ir.Operation
    rows: tuple[ir.Operation, ...]
    scan: Scan
    count: int
    threads: int


def plan_scan(whole: ir.Operation, device: Device) -> RowScan | None:
    """Return what is known of `whole`, loops on buffers; None where it is no scan of long rows."""
    loops = loops_of(whole)
    rows = shared_loops(whole)
    inner = [each for each in loops if each not in rows and constant_trips(each) != 1]
    scan = scan_of(inner[0], whole) if len(inner) == 1 else None
    count = prod(constant_trips(each) or 1 for each in rows)
    if scan is None or scan.length < _SHORT or count > device.grid:
        return None
    threads, most = device.subgroup, min(_MOST_THREADS, device.block_threads)
    while threads < most and threads * _EACH < scan.length:
        threads *= 2
    return RowScan(whole, tuple(rows), scan, count, threads)


def emit_scan(found: RowScan, shared: SharedMemory) -> LaunchShape:
    """Let blocks run loops over rows, which stay in place, for a launch of the returned shape.

    Args:
        found: the loops, inside the stage of their launch.
        shared: for what warps exchange.
    """
    scan, threads = found.scan, found.threads
    give_each(found.rows, found.whole, block_number)
    with scan.loop.location, ir.InsertionPoint(scan.loop):
        _Block(scan, threads, shared).emit()
    scan.loop.operands[1] = scan.loop.operands[0]  # it runs no more
    return LaunchShape(found.count, threads)


class _Block:
    """The code of one thread of a block for one row."""

    def __init__(self, scan: Scan, threads: int, shared: SharedMemory) -> None:
        self._scan = scan
        self._threads = threads
        self._combiner = scan.combiner
        self._lanes = shared.device.subgroup
        self._words = shared.allocate(threads // self._lanes, scan.combiner.type)
        self._number = thread_number()

    def emit(self) -> None:
        """Emit the loop over tiles of the row."""
        tile, start = self._threads * _EACH, self._scan.start
        if self._scan.length <= tile:
            self._tile(index(0), start)
            return
        built = scf.ForOp(index(0), index(self._scan.length), index(tile), [start])
        with ir.InsertionPoint(built.body):
            after = self._tile(built.induction_variable, built.inner_iter_args[0])
            barrier()  # before the words are written again
            scf.YieldOp([after])

    def _tile(self, first: ir.Value, before: ir.Value) -> ir.Value:
        """Emit one tile; returns what there is behind it, given what there is before it."""
        own = arith.muli(as_index(self._number), index(_EACH))
        own = arith.addi(first, own)
        places = [arith.addi(own, index(each)) for each in range(_EACH)]
        last = index(self._scan.length - 1)
        inside = [arith.cmpi(arith.CmpIPredicate.ule, place, last) for place in places]
        known = [self._copy(arith.minui(place, last)) for place in places]
        neutral = self._combiner.start()
        elements = [
            arith.select(there, each[self._scan.element], neutral)
            for there, each in zip(inside, known, strict=True)
        ]
        running = [elements[0]]
        for element in elements[1:]:
            running.append(self._combiner.combine(running[-1], element))
        ahead, total = self._exchange(running[-1])
        base = self._combiner.combine(before, ahead)
        values = [self._combiner.combine(base, each) for each in running]
        if not self._scan.is_inclusive:
            values = [base, *values[:-1]]
        for there, value, each in zip(inside, values, known, strict=True):
            with when(there):
                places_of = [each.get(v, v) for v in list(self._scan.store.operands)[1:]]
                ir.Operation.create("memref.store", operands=[value, *places_of])
        return self._combiner.combine(before, total)

    def _exchange(self, own: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return what threads with lower numbers have, combined, and what the block has."""
        combine = self._combiner.combine
        ahead, total = self._combiner.start(), own
        for bit in range(self._lanes.bit_length() - 1):
            other = butterfly(total, 1 << bit, self._lanes)
            is_upper = self._is_set(self._number, bit)
            ahead = arith.select(is_upper, combine(other, ahead), ahead)
            total = combine(total, other)
        warps = self._threads // self._lanes
        if warps == 1:
            return ahead, total
        warp = arith.shrui(self._number, i32(self._lanes.bit_length() - 1))
        lane = arith.andi(self._number, i32(self._lanes - 1))
        with when(arith.cmpi(arith.CmpIPredicate.eq, lane, i32(0))):
            ir.Operation.create("memref.store", operands=[total, self._words, as_index(warp)])
        barrier()
        totals = [emit("memref.load", [self._words, index(n)], own.type) for n in range(warps)]
        lower, whole = self._combiner.start(), totals[0]
        for number, each in enumerate(totals):
            is_lower = arith.cmpi(arith.CmpIPredicate.ult, i32(number), warp)
            lower = arith.select(is_lower, combine(lower, each), lower)
            whole = combine(whole, each) if number else each
        return combine(lower, ahead), whole

    def _is_set(self, number: ir.Value, bit: int) -> ir.Value:
        found = arith.andi(number, i32(1 << bit))
        return arith.cmpi(arith.CmpIPredicate.ne, found, i32(0))

    def _copy(self, number: ir.Value) -> Mapping[ir.Value, ir.Value]:
        """Repeat what the loop does at iteration `number`, but combining and storing."""
        body = self._scan.loop.regions[0].blocks[0]
        known: dict[ir.Value, ir.Value] = {body.arguments[0]: number}
        combine, store = self._scan.combiner.operation, self._scan.store
        left = [combine, store, terminator(body)]
        if self._scan.carried is not None:
            left += [self._scan.carried]
            left += [use.owner.operation for use in self._scan.carried.result.uses]
        for view in body.operations:
            op = view.operation
            if op not in left:
                repeat(op, known)
        return known
