# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reduces the windows of one thread over an image tile in shared memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.conv.window_tile import TiledWindows
from xyntra.passes.lower.gpu.conv.window_weights import ThreadWeights, WeightArgument
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, rolled_loop
from xyntra.passes.lower.loops.integers import addi, divui, muli
from xyntra.passes.lower.loops.loop_builder import Position, index
from xyntra.passes.lower.loops.vector_body import broadcast, lane_of, side_by_side

_GROUP, _DOWN, _ACROSS, _SIDE = range(4)


class WindowSums:
    """The sums of one thread, and what is added to them.

    Args:
        found: the reduction over windows, in tiles.
        thread: the numbers of the thread's plane, and of its rows, columns and channels in a tile.
        memory: of the tile.
    """

    def __init__(self, found: TiledWindows, thread: Position, memory: ir.Value) -> None:
        self.found = found
        self.memory = memory
        windows, tile = found.windows, found.tile
        self.lanes = tile.columns if windows.slides_inside else tile.vector
        self.count = tile.rows * (1 if windows.slides_inside else tile.columns)
        arguments = list(windows.nest.body.arguments)
        self.image = WeightArgument(arguments[windows.image])
        self.weights = (
            None if windows.weights is None else WeightArgument(arguments[windows.weights])
        )
        self.running = arguments[len(windows.nest.inputs)]
        rows = muli(thread[_DOWN], index(tile.rows * windows.down.step))
        row = addi(muli(thread[_GROUP], index(found.staged_rows)), rows)
        columns = tile.columns * windows.across.step
        self.first = addi(
            muli(row, index(found.pitch)),
            muli(thread[_ACROSS], index(columns * found.cell)),
        )
        if not windows.slides_inside:
            own = muli(thread[_SIDE], index(tile.vector))
            if windows.shared > 1:
                own = divui(own, index(windows.shared))
            own = own if windows.inputs == 1 else muli(own, index(windows.inputs))
            self.first = addi(self.first, addi(own, index(found.shift * found.cell)))

    def add(self, sums: Sequence[ir.Value], position: Position) -> list[ir.Value]:
        """Emit what is added to the sums; return them.

        Args:
            sums: vectors, for every row the columns; where columns are contiguous in memory, a
                vector for every row.
            position: of the loops that the weights move with, but for those of a tile.
        """
        down = self.found.windows.down
        if self.found.unrolls:
            return self._add(sums, self.first, position, range(down.taps))
        built = rolled_loop(down.taps, 1, list(sums))
        with ir.InsertionPoint(built.body):
            tap = as_index(built.induction_variable)
            first = addi(self.first, muli(tap, index(down.spread * self.found.pitch)))
            if down.tap is not None:
                position = position | {down.tap: tap}
            scf.YieldOp(self._add(list(built.inner_iter_args), first, position, None))
        return list(built.results)

    def _add(
        self, sums: Sequence[ir.Value], first: ir.Value, position: Position, taps: range | None
    ) -> list[ir.Value]:
        """Emit what is added for rows of taps; None stands for the one that `position` has."""
        windows, tile = self.found.windows, self.found.tile
        totals, weights = list(sums), self._weights_at(position)
        for row, uses in self._rows(taps):
            cells = _Row(self, addi(first, index(row * self.found.pitch)))
            for channel, across, (i, tap) in product(
                range(windows.inputs), range(windows.across.taps), uses
            ):
                weight = None if weights is None else weights.at(tap, across, channel)
                columns = 1 if windows.slides_inside else tile.columns
                for j in range(columns):
                    number = i * columns + j
                    column = j * windows.across.step + across * windows.across.spread
                    value = cells.at(column, channel)
                    totals[number] = self._combined(value, weight, totals[number])
        return totals

    def _weights_at(self, position: Position) -> ThreadWeights | None:
        windows = self.found.windows
        if self.weights is None or windows.weights is None:
            return None
        access = windows.nest.inputs[windows.weights]
        return ThreadWeights(windows, access, self.weights, self.lanes, position)

    def _rows(self, taps: range | None) -> Iterator[tuple[int, list[tuple[int, int | None]]]]:
        """Yield every row of the tile that is read, with the outputs and taps that meet there."""
        down, rows = self.found.windows.down, range(self.found.tile.rows)
        met: dict[int, list[tuple[int, int | None]]] = {}
        for i in rows:
            for tap in [None] if taps is None else taps:
                met.setdefault(i * down.step + (tap or 0) * down.spread, []).append((i, tap))
        yield from sorted(met.items())

    def _combined(self, value: ir.Value, weight: ir.Value | None, running: ir.Value) -> ir.Value:
        known = {self.image.key: value, self.running: running}
        if self.weights is not None and weight is not None:
            known[self.weights.key] = weight
        return side_by_side(self.found.windows.nest.body, [known], self.lanes)[0][0]


class _Row:
    """The elements of a row of the tile, loaded as they are asked for."""

    def __init__(self, sums: WindowSums, first: ir.Value) -> None:
        self.sums = sums
        self.first = first
        self.loaded: dict[int, ir.Value] = {}
        self.cells: dict[tuple[int, int], ir.Value] = {}

    def at(self, column: int, channel: int) -> ir.Value:
        """Return the vector that begins in a column, counted from the thread's first one.

        Args:
            column: of the image.
            channel: of each group.
        """
        if (column, channel) not in self.cells:
            slides = self.sums.found.windows.slides_inside
            made = self._slid(column) if slides else self._channels(column, channel)
            self.cells[column, channel] = made
        return self.cells[column, channel]

    def _channels(self, column: int, channel: int) -> ir.Value:
        found = self.sums.found
        first, windows = column * found.cell, found.windows
        if windows.shared > 1:
            return broadcast(self._element(first + channel), self.sums.lanes)
        if windows.inputs == 1:
            return self._load(first, self.sums.lanes)
        places = [first + lane * windows.inputs + channel for lane in range(self.sums.lanes)]
        elements = [self._element(place) for place in places]
        kind = ir.VectorType.get([len(elements)], elements[0].type)
        return emit("vector.from_elements", elements, kind)

    def _element(self, place: int) -> ir.Value:
        size = self.sums.found.read
        number, lane = divmod(place, size)
        if number not in self.loaded:
            self.loaded[number] = self._load(number * size, size)
        return lane_of(self.loaded[number], lane)

    def _slid(self, column: int) -> ir.Value:
        found = self.sums.found
        step = found.windows.across.step
        places = [column + found.shift + i * step for i in range(self.sums.lanes)]
        elements = [self._element(place) for place in places]
        kind = ir.VectorType.get([len(elements)], elements[0].type)
        return emit("vector.from_elements", elements, kind)

    def _load(self, ahead: int, size: int) -> ir.Value:
        found = self.sums.found
        kind = ir.VectorType.get([size], found.windows.access.element_type)
        i64 = ir.IntegerType.get_signless(64)
        alignment = ir.IntegerAttr.get(i64, size * found.windows.item)
        place = addi(self.first, index(ahead))
        value = emit("vector.load", [self.sums.memory, place], kind, alignment=alignment)
        return self.sums.image.widened(value)
