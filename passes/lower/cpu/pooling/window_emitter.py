# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits depthwise convolutions and poolings with channels innermost, on vectors of channels.

A tile is a few neighbouring positions of a row by a few vectors of channels. Every element that it
needs is loaded once and combined into all positions that it belongs to. Taps outside of the image
are left out: by the bounds of the loops over rows of taps, and for the first and last positions of
a row by code of their own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.conv.window_plan import Slide, WindowReduction
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    loop,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

_NEAR_BYTES = 256 << 10  # half of a usual second-level cache
_CHANNELS = -1  # key of a `Position` beside the numbers of the nest's loops


@dataclass(frozen=True)
class WindowEmitter:
    """Writes one window reduction at the current insertion point.

    Attributes:
        nest: its loops.
        window: how it reads.
        weights: one for every tap and channel, channels innermost; None for a pooling.
        initial: the scalar that every element of the output starts from.
        epilogue: what happens to the values of a tile, which it also describes.
    """

    nest: LinearNest
    window: WindowReduction
    weights: BufferOperand | None
    initial: ir.Value
    epilogue: TileEpilogue

    def emit(self, *, overlap: bool, looped: bool = False) -> None:
        """Emit all loops.

        Args:
            overlap: positions may be computed twice.
            looped: there is a loop over the taps of a row, too, rather than code for each.
        """
        tile, window = self.epilogue.plan, self.window
        channels = self.nest.loops[window.channel].extent
        outer = [(number, self.nest.loops[number].extent) for number in window.outer]
        tiles = (_CHANNELS, -(-channels // tile.columns))
        span = ir.MemRefType(window.image.value.type).shape[0]
        is_near = span * (32 // tile.lanes) <= _NEAR_BYTES
        loops = [tiles, *outer] if is_near else [*outer, tiles]

        def row(position: Position) -> None:
            column = tile_start(position.pop(_CHANNELS), tile.columns, channels)
            if looped:
                with loop(self._slide.places) as place:
                    self._position(position | {self._slide.place: place}, column)
            else:
                self._row(position, column, overlap=overlap)

        nested_loops(loops, {}, row, parallel=True)

    @property
    def _slide(self) -> Slide:
        return self.window.slides[-1]

    def _row(self, position: Position, column: ir.Value, *, overlap: bool) -> None:
        """Emit the positions of one row."""
        slide, height = self._slide, self.epilogue.plan.rows
        inner, taps = slide.inner, range(slide.taps)
        for place in range(slide.places):
            if place not in inner:
                self._tile(position, index(place), 1, slide.taps_at(place), column)
        if not inner:
            return
        rest = len(inner) % height
        whole = len(inner) // height
        moves_back = overlap and rest and whole
        with loop(whole + bool(moves_back)) as number:
            start = integers.muli(number, index(height))
            if moves_back:
                start = integers.minsi(start, index(len(inner) - height))
            start = integers.addi(start, index(inner.start))
            self._tile(position, start, height, taps, column)
        if rest and not moves_back:
            self._tile(position, index(inner.stop - rest), rest, taps, column)

    def _tile(
        self,
        position: Position,
        start: ir.Value,
        rows: int,
        taps: Sequence[int],
        column: ir.Value,
    ) -> None:
        """Emit `rows` positions from `start`, which meet the `taps` of the last slide alone."""
        tile = self.epilogue.plan
        inside = position | {self._slide.place: start}
        sums = [broadcast(self.initial, tile.lanes)] * (rows * tile.vectors)
        sums = self._over_slides(self.window.slides[:-1], inside, rows, taps, column, sums)
        put = self.epilogue.at(inside, column)
        for number, value in enumerate(sums):
            put(value, *divmod(number, tile.vectors))

    def _position(self, position: Position, column: ir.Value) -> None:
        """Emit one position, with loops over all of its taps."""
        tile = self.epilogue.plan
        sums = [broadcast(self.initial, tile.lanes)] * tile.vectors
        put = self.epilogue.at(position, column)
        for number, value in enumerate(self._over_all(self.window.slides, position, column, sums)):
            put(value, 0, number)

    def _over_all(
        self, slides: Sequence[Slide], position: Position, column: ir.Value, sums: list[ir.Value]
    ) -> list[ir.Value]:
        if not slides:
            start = plus(offset(self.window.image, position), column)
            vectors = self._vectors(self.window.image, start, 0)
            weights = self._weights(position, None, column) or vectors
            lanes = self.epilogue.plan.lanes
            return [
                emit_on_vectors(self.nest.body, list(arguments), lanes)
                for arguments in zip(vectors, weights, sums, strict=True)
            ]
        first, end = _bounds(slides[0], position[slides[0].place])
        built = scf.ForOp(first, end, index(1), list(sums))
        with ir.InsertionPoint(built.body):
            inside = position | {slides[0].tap: built.induction_variable}
            carried = list(built.inner_iter_args)
            scf.YieldOp(self._over_all(slides[1:], inside, column, carried))
        return list(built.results)

    def _over_slides(
        self,
        slides: Sequence[Slide],
        position: Position,
        rows: int,
        taps: Sequence[int],
        column: ir.Value,
        sums: Sequence[ir.Value],
    ) -> list[ir.Value]:
        if not slides:
            return self._over_taps(position, rows, taps, column, sums)
        slide = slides[0]
        first, end = _bounds(slide, position[slide.place])
        built = scf.ForOp(first, end, index(1), list(sums))
        with ir.InsertionPoint(built.body):
            inside = position | {slide.tap: built.induction_variable}
            carried = list(built.inner_iter_args)
            results = self._over_slides(slides[1:], inside, rows, taps, column, carried)
            scf.YieldOp(results)
        return list(built.results)

    def _over_taps(
        self,
        position: Position,
        rows: int,
        taps: Sequence[int],
        column: ir.Value,
        sums: Sequence[ir.Value],
    ) -> list[ir.Value]:
        """Combine the elements of one row of taps into the positions of a tile."""
        tile, slide = self.epilogue.plan, self._slide
        start = plus(offset(self.window.image, position), column)
        step = self.window.image.strides[slide.place] // slide.stride
        weights = {tap: self._weights(position, tap, column) for tap in taps}
        found = list(sums)
        places = sorted(
            (row * slide.stride + tap * slide.dilation, row, tap)
            for row in range(rows)
            for tap in taps
        )
        loaded: dict[int, list[ir.Value]] = {}
        for place, row, tap in places:
            if place not in loaded:
                loaded = {place: self._vectors(self.window.image, start, place * step)}
            for vector, x in enumerate(loaded[place]):
                number = row * tile.vectors + vector
                arguments = [x, weights[tap][vector] if weights[tap] else x, found[number]]
                found[number] = emit_on_vectors(self.nest.body, arguments, tile.lanes)
        return found

    def _weights(self, position: Position, tap: int | None, column: ir.Value) -> list[ir.Value]:
        """Load the weights of a tap of a row; None for that at which its loop stands."""
        if self.weights is None:
            return []
        looped = self.window.slides if tap is None else self.window.slides[:-1]
        inside = {slide.tap: position[slide.tap] for slide in looped}
        start = plus(offset(self.weights, inside), column)
        return self._vectors(
            self.weights, start, (tap or 0) * self.weights.strides[self._slide.tap]
        )

    def _vectors(self, access: BufferOperand, start: ir.Value, distance: int) -> list[ir.Value]:
        tile = self.epilogue.plan
        element = access.element_type
        kind = ir.VectorType.get([tile.lanes], element)
        return [
            emit(
                "vector.load",
                [access.value, integers.addi(start, index(distance + number * tile.lanes))],
                kind,
            )
            for number in range(tile.vectors)
        ]


def _bounds(slide: Slide, place: ir.Value) -> tuple[ir.Value, ir.Value]:
    """The first tap that meets an element at a position, and the one behind the last."""
    if slide.is_inside:
        return index(0), index(slide.taps)
    begin = integers.muli(place, index(slide.stride))
    first = _taps_within(slide, integers.subi(index(slide.low), begin))
    end = _taps_within(slide, integers.subi(index(slide.low + slide.extent), begin))
    return first, integers.minsi(index(slide.taps), end)


def _taps_within(slide: Slide, distance: ir.Value) -> ir.Value:
    """Return how many taps are closer to the first than `distance`, which may be negative."""
    distance = integers.maxsi(distance, index(0))
    if slide.dilation == 1:
        return distance
    rounded = integers.addi(distance, index(slide.dilation - 1))
    return integers.divui(rounded, index(slide.dilation))
