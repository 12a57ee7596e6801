# SPDX-License-Identifier: MIT OR Apache-2.0
"""What one thread does with a tile of an image in shared memory: it combines windows of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.conv.window_tile import TiledWindows
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, rolled_loop
from xyntra.passes.lower.gpu.emit.vectors import lanes_in_memory, vector_of
from xyntra.passes.lower.nests.integers import addi, muli
from xyntra.passes.lower.nests.linear_nest import Access
from xyntra.passes.lower.nests.loop_builder import Position, index, load, offset
from xyntra.passes.lower.nests.vector_body import broadcast, lane_of, side_by_side

_GROUP, _DOWN, _ACROSS, _SIDE = range(4)
_WIDENING = ("arith.extf", "arith.extsi", "arith.extui")


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
        self.image = _Argument(arguments[windows.image])
        self.weights = None if windows.weights is None else _Argument(arguments[windows.weights])
        self.running = arguments[len(windows.nest.inputs)]
        rows = muli(thread[_DOWN], index(tile.rows * windows.down.step))
        row = addi(muli(thread[_GROUP], index(found.staged_rows)), rows)
        columns = tile.columns * windows.across.step
        self.first = addi(
            muli(row, index(found.pitch)),
            muli(thread[_ACROSS], index(columns * tile.channels)),
        )
        if not windows.slides_inside:
            own = muli(thread[_SIDE], index(tile.vector))
            self.first = addi(self.first, addi(own, index(found.shift * tile.channels)))

    def add(self, sums: Sequence[ir.Value], position: Position) -> list[ir.Value]:
        """Emit what is added to the sums; return them.

        Args:
            sums: vectors, for every row the columns; where columns are neighbours in memory, a
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
        totals, weights = list(sums), _Weights(self, position)
        for row, uses in self._rows(taps):
            cells = _Row(self, addi(first, index(row * self.found.pitch)))
            for across in range(windows.across.taps):
                for i, tap in uses:
                    weight = weights.at(tap, across)
                    columns = 1 if windows.slides_inside else tile.columns
                    for j in range(columns):
                        number = i * columns + j
                        column = j * windows.across.step + across * windows.across.spread
                        value = cells.at(column)
                        totals[number] = self._combined(value, weight, totals[number])
        return totals

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


class _Argument:
    """An argument of the body, and what it is widened to before anything else, if it is.

    Values are widened where they are loaded, once for all that they are combined with.
    """

    def __init__(self, argument: ir.Value) -> None:
        uses = [use.owner.operation for use in argument.uses]
        is_widened = len(uses) == 1 and uses[0].name in _WIDENING
        self.op = uses[0] if is_widened else None
        self.key = argument if self.op is None else self.op.result

    def widened(self, vector: ir.Value) -> ir.Value:
        """Return the values of a vector as the body first uses them."""
        if self.op is None:
            return vector
        kind = ir.VectorType.get(ir.VectorType(vector.type).shape, self.op.result.type)
        return emit(self.op.name, [vector], kind)


class _Row:
    """The elements of a row of the tile, loaded as they are asked for."""

    def __init__(self, sums: WindowSums, first: ir.Value) -> None:
        self.sums = sums
        self.first = first
        self.loaded: dict[int, ir.Value] = {}
        self.cells: dict[int, ir.Value] = {}

    def at(self, column: int) -> ir.Value:
        """Return the vector that begins in a column, counted from the thread's first one."""
        if column not in self.cells:
            slides = self.sums.found.windows.slides_inside
            self.cells[column] = self._slid(column) if slides else self._channels(column)
        return self.cells[column]

    def _channels(self, column: int) -> ir.Value:
        return self._load(column * self.sums.found.tile.channels, self.sums.lanes)

    def _slid(self, column: int) -> ir.Value:
        found = self.sums.found
        step, size = found.windows.across.step, found.read
        places = [column + found.shift + i * step for i in range(self.sums.lanes)]
        elements = []
        for place in places:
            number, lane = divmod(place, size)
            if number not in self.loaded:
                self.loaded[number] = self._load(number * size, size)
            elements.append(lane_of(self.loaded[number], lane))
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


class _Weights:
    """What taps are combined with, loaded as it is asked for."""

    def __init__(self, sums: WindowSums, position: Position) -> None:
        self.sums = sums
        self.position = position
        self.loaded: dict[tuple[int | None, int], ir.Value] = {}

    def at(self, down: int | None, across: int) -> ir.Value | None:
        """Return a vector for a tap; None where there are no weights."""
        windows, argument = self.sums.found.windows, self.sums.weights
        if argument is None or windows.weights is None:
            return None
        if (down, across) not in self.loaded:
            position = dict(self.position)
            for axis, tap in ((windows.down, down), (windows.across, across)):
                if axis.tap is not None and tap is not None:
                    position[axis.tap] = index(tap)
            access = windows.nest.inputs[windows.weights]
            self.loaded[down, across] = self._load(access, position, argument)
        return self.loaded[down, across]

    def _load(self, access: Access, position: Position, argument: _Argument) -> ir.Value:
        windows, lanes = self.sums.found.windows, self.sums.lanes
        if windows.slides_inside or not access.strides[windows.inner]:
            single = argument.widened(broadcast(load(access, offset(access, position)), 1))
            return broadcast(lane_of(single, 0), lanes)
        alone = replace(windows.nest, inputs=(access,), outputs=())
        if lanes_in_memory(alone, windows.inner) % lanes == 0:
            return argument.widened(vector_of(access, windows.inner, lanes, position))
        place, step = offset(access, position), access.strides[windows.inner]
        elements = [load(access, addi(place, index(i * step))) for i in range(lanes)]
        kind = ir.VectorType.get([lanes], elements[0].type)
        return argument.widened(emit("vector.from_elements", elements, kind))
