# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies parts of one factor of f32 into shared memory.

A place in the factor is the sum of what rows and what steps contribute. Rows contribute the same
to every part, so that their share is computed once; steps the same to every thread, where a part
lies along one loop.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.fma.factor import FmaFactor, Pieces
from xyntra.passes.lower.cuda.matmul.fma.tiles import DEPTH
from xyntra.passes.lower.cuda.ptx.copies import cp_async
from xyntra.passes.lower.cuda.ptx.memory import global_address
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.emit.thread_grid import i32, i64, is_below, thread_number
from xyntra.passes.lower.gpu.matmul.roles import size
from xyntra.passes.lower.loops.loop_builder import Position

_ITEM = 4  # bytes


@dataclass(frozen=True)
class _Place:
    """The contribution of some rows, or some steps, to an address in the factor.

    Attributes:
        distance: elements, an i32.
        ahead: more elements, known when compiling.
        windows: positions in the dimensions of the windows, i32s.
        inside: whether there is such a step; None where there always is.
    """

    distance: ir.Value
    ahead: int = 0
    windows: tuple[ir.Value, ...] = ()
    inside: ir.Value | None = None


@dataclass(frozen=True)
class FmaCopies:
    """Copies parts of a factor for one tile.

    Attributes:
        factor: the factor.
        threads: of the block.
        pieces: what the thread copies.
        targets: where each of the thread's pieces lies behind the start of a part: an i32, and
            bytes ahead of it.
        rows: what the row of each piece contributes.
    """

    factor: FmaFactor
    threads: int
    pieces: Pieces
    targets: tuple[tuple[ir.Value, int], ...]
    rows: tuple[_Place, ...]

    @classmethod
    def of(cls, factor: FmaFactor, threads: int, batch: ir.Value, first: ir.Value) -> FmaCopies:
        """Return what copies for one tile.

        Args:
            factor: the factor.
            threads: of the block.
            batch: number of the output, an i32.
            first: the tile's first row or column, an i32.
        """
        pieces = factor.pieces_of(threads)
        targets = _targets(factor, pieces)
        position = factor.position(batch, factor.batch)
        rows = _rows(factor, pieces, position, arith.addi(first, pieces.row))
        return cls(factor, threads, pieces, targets, rows)

    def copy(
        self, stage: ir.Value, part: ir.Value, wanted: ir.Value | None, *, first: bool
    ) -> None:
        """Begin to bring a part to shared memory.

        Args:
            stage: address where the part begins, an i32.
            part: its number, an i32.
            wanted: an i1, whether there is such a part; None where there is.
            first: whether the part may be the first one of the reduction.
        """
        nbytes = self.factor.lanes * _ITEM
        base = global_address(self.factor.access.value)
        steps = self._steps(part, first=first)
        wanted = self._shared_out(wanted)
        places = {place: arith.addi(stage, place) for place, _ in self.targets}
        for row, step, target in zip(self.rows, steps, self.targets, strict=True):
            distance = arith.addi(row.distance, step.distance)
            ahead = (row.ahead + step.ahead) * _ITEM
            source = arith.addi(base, _bytes(distance))
            place = arith.addi(places[target[0]], i32(target[1]))
            present = self._present(row, step, nbytes)
            cp_async(place, source, nbytes, present, wanted=wanted, ahead=ahead)

    def _shared_out(self, wanted: ir.Value | None) -> ir.Value | None:
        """Return `wanted` for threads that have a piece."""
        if self.pieces.count >= self.threads:
            return wanted
        has = is_below(thread_number(), self.pieces.count)
        return has if wanted is None else arith.andi(wanted, has)

    def _present(self, row: _Place, step: _Place, nbytes: int) -> ir.Value | None:
        """Return how many bytes of a piece are read; zeros take the place of the others."""
        conditions = [
            is_below(arith.addi(one, other), window.size)  # negative ones are large
            for one, other, window in zip(
                row.windows, step.windows, self.factor.windows, strict=True
            )
        ]
        if step.inside is not None:
            conditions.append(step.inside)
        if not conditions:
            return None
        return arith.select(reduce(arith.andi, conditions), i32(nbytes), i32(0))

    def _steps(self, part: ir.Value, *, first: bool) -> list[_Place]:
        """Return what the step of each piece contributes."""
        factor = self.factor
        start = arith.subi(arith.muli(part, i32(DEPTH)), i32(factor.lead))
        emit_step = self._blocked if factor.is_blocked else self._scattered
        apart = dict.fromkeys(deep for _, deep in self.pieces.ahead)
        known = {deep: emit_step(start, deep, first=first) for deep in apart}
        return [known[deep] for _, deep in self.pieces.ahead]

    def _blocked(self, start: ir.Value, deep: int, *, first: bool) -> _Place:
        """Return what a step contributes where all of a part lie along one loop."""
        factor, inner = self.factor, self.factor.reductions[-1]
        position = factor.position(start, factor.reductions)
        position[inner] = arith.addi(position[inner], self.pieces.step)
        distance = factor.distance(position)
        position[inner] = arith.addi(position[inner], i32(deep))
        inside = None
        if first and factor.lead:
            inside = arith.cmpi(arith.CmpIPredicate.sge, position[inner], i32(0))
        windows = self._windows(position)
        return _Place(distance, deep * factor.access.strides[inner], windows, inside)

    def _scattered(self, start: ir.Value, deep: int, *, first: bool) -> _Place:
        """Return what a step contributes."""
        factor = self.factor
        number = arith.addi(start, arith.addi(self.pieces.step, i32(deep)))
        position = factor.position(number, factor.reductions)
        limit = size(factor.nest, factor.reductions)
        inside = is_below(number, limit) if limit % DEPTH else None
        return _Place(factor.distance(position), 0, self._windows(position), inside)

    def _windows(self, position: Position) -> tuple[ir.Value, ...]:
        windows = self.factor.windows
        return _moved(windows, [i32(0)] * len(windows), position)


def _targets(factor: FmaFactor, pieces: Pieces) -> tuple[tuple[ir.Value, int], ...]:
    """Return where each piece of a part lies: an address, and bytes ahead of it."""
    known: dict[int, ir.Value] = {}
    found = []
    for down, deep in pieces.ahead:
        apart = down % factor.period if factor.is_deep else 0
        if apart not in known:
            row = arith.addi(pieces.row, i32(apart)) if apart else pieces.row
            known[apart] = factor.place(row, pieces.step)
        found.append((known[apart], factor.bytes_ahead(down - apart, deep)))
    return tuple(found)


def _rows(
    factor: FmaFactor, pieces: Pieces, batch: Position, first: ir.Value
) -> tuple[_Place, ...]:
    """Return what the row of each piece contributes; `first` is that of the first one."""
    extent = size(factor.nest, factor.loops)
    is_whole = extent % factor.width == 0
    apart = None
    if is_whole and len(factor.loops) <= 1 and not factor.windows:
        apart = factor.access.strides[factor.loops[0]] if factor.loops else 0
    known: dict[int, _Place] = {}
    for down, _ in pieces.ahead:
        if down in known:
            continue
        if apart is not None and known:
            known[down] = replace(known[0], ahead=down * apart)
            continue
        row = arith.addi(first, i32(down))
        if not is_whole:  # those behind the end are read again, and nothing is made of them
            row = arith.minsi(row, i32(factor.last))
        position = batch | factor.position(row, factor.loops)
        distance = arith.addi(i32(factor.start), factor.distance(position))
        starts = [i32(window.first) for window in factor.windows]
        known[down] = _Place(distance, 0, _moved(factor.windows, starts, position))
    return tuple(known[down] for down, _ in pieces.ahead)


def _moved(
    windows: Sequence[ImagePosition], starts: Sequence[ir.Value], position: Position
) -> tuple[ir.Value, ...]:
    """Return positions in the dimensions of `windows`, from `starts` on, i32s."""
    found = []
    for window, start in zip(windows, starts, strict=True):
        place = start
        for loop, step in window.steps:
            if loop in position:
                place = arith.addi(place, arith.muli(position[loop], i32(step)))
        found.append(place)
    return tuple(found)


def _bytes(distance: ir.Value) -> ir.Value:
    wide = arith.extsi(ir.IntegerType.get_signless(64), distance)
    return arith.muli(wide, i64(_ITEM))
