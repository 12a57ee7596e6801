# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-scans`: running sums and their like along columns are done in parts, side by side.

Threads side by side take columns.

A first launch combines the elements of each part, a second one starts each part from what the parts
before it have, and stores on the way (G. Blelloch, "Prefix sums and their applications", 1990). The
order depends on the sizes alone.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.thread_grid import delinearize, when
from xyntra.passes.lower.gpu.loops.loop_copies import computed_again
from xyntra.passes.lower.gpu.loops.loop_threads import loops_of, shared_loops
from xyntra.passes.lower.gpu.scan_sort.scan_loop import Scan, scan_of
from xyntra.passes.lower.nests.kernel_function import kernel_function, operations_named
from xyntra.passes.lower.nests.loop_bounds import constant_trips, number_of
from xyntra.passes.lower.nests.loop_builder import index, loop
from xyntra.passes.lower.nests.memrefs import allocate
from xyntra.passes.registry import register_pass

_MIN_LENGTH = 128
_MIN_PART = 32
_THREADS = 1 << 17  # as many occupy a large device
_TOGETHER = 8  # elements of a thread on their way together


@dataclass(frozen=True)
class _Columns:
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
        """How many columns there are."""
        return prod(constant_trips(each) or 0 for each in self.columns)


@register_pass
@dataclass(frozen=True)
class SplitScans:
    """Replace loops that scan few long columns by two: of parts, and of what parts begin with."""

    name: ClassVar[str] = "split-scans"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`, on buffers."""
        function = kernel_function(module)
        for op in operations_named(function, "scf.for"):
            found = _columns(op) if op.parent == function else None
            if found is None:
                continue
            most = found.scan.length // _MIN_PART
            parts = min(most, -(-_THREADS // found.count))
            if found.scan.length >= _MIN_LENGTH and parts > 1:
                with op.location, ir.InsertionPoint(op):
                    _Parts(found, parts).emit()
                op.erase()


def _columns(whole: ir.Operation) -> _Columns | None:
    """Return what is known of `whole`; None where it is something else."""
    loops, rows = loops_of(whole), shared_loops(whole)
    units = tuple(each for each in loops if constant_trips(each) == 1)
    inner = [each for each in loops if each not in rows and each not in units]
    scan = scan_of(inner[0], whole, at_any_depth=True) if len(inner) == 1 else None
    if scan is None or not rows:
        return None
    last = list(scan.store.operands)[-1]
    walking = [each for each in rows if number_of(each) == last]
    if not walking:
        return None
    columns = (*(each for each in rows if each not in walking), *walking)
    return _Columns(whole, scan, columns, units)


class _Parts:
    """Emits the two launches of a scan."""

    def __init__(self, found: _Columns, parts: int) -> None:
        self._found = found
        length = -(-found.scan.length // parts)
        self._part = -(-length // _TOGETHER) * _TOGETHER
        self._parts = -(-found.scan.length // self._part)
        self._totals = allocate(self._parts * found.count, found.scan.combiner.type)

    def emit(self) -> None:
        """Emit both."""
        combiner, count = self._found.scan.combiner, index(self._found.count)
        with loop(self._parts * self._found.count, parallel=True) as number:
            part, column = arith.divui(number, count), arith.remui(number, count)
            total = self._along(part, column, combiner.start(), None)
            ir.Operation.create("memref.store", operands=[total, self._totals, number])
        with loop(self._parts * self._found.count, parallel=True) as number:
            part, column = arith.divui(number, count), arith.remui(number, count)
            self._along(part, column, self._before(part, column), self._store)

    def _before(self, part: ir.Value, column: ir.Value) -> ir.Value:
        """Return what there is before a part."""
        scan = self._found.scan
        start = computed_again(scan.start, {}, self._found.whole)
        built = scf.ForOp(index(0), part, index(1), [start])
        with ir.InsertionPoint(built.body):
            place = arith.muli(built.induction_variable, index(self._found.count))
            place = arith.addi(place, column)
            total = emit("memref.load", [self._totals, place], scan.combiner.type)
            scf.YieldOp([scan.combiner.combine(built.inner_iter_args[0], total)])
        return built.results[0]

    def _along(
        self,
        part: ir.Value,
        column: ir.Value,
        start: ir.Value,
        store: Callable[[dict[ir.Value, ir.Value], ir.Value], None] | None,
    ) -> ir.Value:
        """Emit the loop along a part of a column; returns what there is behind it."""
        scan = self._found.scan
        built = scf.ForOp(index(0), index(self._part), index(_TOGETHER), [start])
        with ir.InsertionPoint(built.body):
            first = arith.addi(arith.muli(part, index(self._part)), built.induction_variable)
            places = [arith.addi(first, index(each)) for each in range(_TOGETHER)]
            elements = [self._element(place, column) for place in places]
            running = built.inner_iter_args[0]
            for place, (known, element) in zip(places, elements, strict=True):
                after = scan.combiner.combine(running, element)
                if store is not None:
                    with when(self._is_inside(place)):
                        store(known, after if scan.is_inclusive else running)
                running = after
            scf.YieldOp([running])
        return built.results[0]

    def _is_inside(self, place: ir.Value) -> ir.Value:
        return arith.cmpi(arith.CmpIPredicate.ult, place, index(self._found.scan.length))

    def _element(
        self, place: ir.Value, column: ir.Value
    ) -> tuple[dict[ir.Value, ir.Value], ir.Value]:
        """Return an element, the neutral one behind the end, and what stands for loops' numbers."""
        found, scan = self._found, self._found.scan
        known = dict(_numbers(found.columns, column))
        known |= {number_of(each): index(0) for each in found.units}
        known[number_of(scan.loop)] = arith.minui(place, index(scan.length - 1))
        element = computed_again(scan.element, known, found.whole)
        return known, arith.select(self._is_inside(place), element, scan.combiner.start())

    def _store(self, known: dict[ir.Value, ir.Value], value: ir.Value) -> None:
        memory, *indices = list(self._found.scan.store.operands)[1:]
        again = dict(known)
        there = [computed_again(each, again, self._found.whole) for each in indices]
        ir.Operation.create("memref.store", operands=[value, memory, *there])


def _numbers(loops: Sequence[ir.Operation], column: ir.Value) -> list[tuple[ir.Value, ir.Value]]:
    """Return the numbers of `loops` with what stands for them in a column."""
    extents = [(place, constant_trips(each) or 0) for place, each in enumerate(loops)]
    position = delinearize(column, extents)
    return [(number_of(each), position[place]) for place, each in enumerate(loops)]
