# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits a convolution with channels innermost as products of positions with panels of weights.

There is no copy of the input in another order: a row of a tile is an output position, of which the
loops over taps and channels read the input where it lies (`conv/rows.py`). A long reduction
is cut into blocks, whose panel stays in the first-level cache while a block of rows passes; the
tiles wait in a strip of memory meanwhile (Goto and van de Geijn, "Anatomy of High-Performance
Matrix Multiplication", 2008; Georganas et al., "Anatomy of High-Performance Deep Learning
Convolutions on SIMD Architectures", 2018).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from math import prod

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size, hint_of
from xyntra.passes.lower.cpu.conv.absent_taps import AbsentTaps
from xyntra.passes.lower.cpu.conv.plan import ROW_TILES, ConvolutionPlan
from xyntra.passes.lower.cpu.conv.rows import Put, TileRows, tile_rows
from xyntra.passes.lower.cpu.matmul.panels.constant_panels import ConstantPanels
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    loop,
    nested_loops,
    offset,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast, emit_on_vectors

_ONE_BLOCK = 448  # steps of a reduction that is not cut
_BLOCK = 320
_COLUMNS, _ROWS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_LINE_BYTES = 64
_MAX_CLONED = 160  # operations that the copies of an epilogue's body may amount to


@dataclass(frozen=True)
class ConvolutionEmitter:
    """Writes one convolution at the current insertion point.

    Attributes:
        plan: its tiles.
        initial: the scalar that every element of the output starts from.
        code: what happens to each element of the result before it is stored, if anything.
        rows_outside: whether the loop over blocks of rows is around that over tiles of columns.
    """

    plan: ConvolutionPlan
    initial: ir.Value
    code: Epilogue | None
    rows_outside: bool

    def emit(self) -> None:
        """Emit all loops."""
        nest, tile = self.plan.nest, self.plan.tile
        weights = nest.inputs[1 - self.plan.image]
        panels = ConstantPanels.filled(nest, tile, weights)
        epilogue = TileEpilogue.of(tile, nest.outputs[0], self.code)
        rows = tile_rows(self.plan)
        absent = None
        if self.plan.has_phases:
            size = nest.loops[nest.reductions[-1]].extent * tile.columns
            absent = AbsentTaps.found(panels, weights, size)
        body = _Body(self, panels.first, rows, epilogue, absent)
        extent = nest.loops[self.plan.row + 1].extent
        loops = [(number, each.extent) for number, each in enumerate(nest.loops[: self.plan.row])]
        tiles = [(_COLUMNS, _tiles(extent, tile.columns)), (_ROWS, _tiles(rows.tiles, ROW_TILES))]

        def inside(position: Position) -> None:
            number = position.pop(_COLUMNS)
            first = integers.muli(position.pop(_ROWS), index(ROW_TILES))
            column = tile_start(number, tile.columns, extent)
            body.emit(position, column, integers.muli(number, index(panels.size)), first)

        order = tiles[::-1] if self.rows_outside else tiles
        nested_loops([*loops, *order], {}, inside, parallel=True)


@dataclass(frozen=True)
class _Body:
    """Emitter of the code inside the loops over columns and blocks of rows.

    Attributes:
        whole: the convolution.
        panels: the weights; strides are those of the reductions.
        rows: where the rows of every tile are.
        epilogue: what happens to the values of a tile.
        absent: which taps are left out, where some may be.
    """

    whole: ConvolutionEmitter
    panels: BufferOperand
    rows: TileRows
    epilogue: TileEpilogue
    absent: AbsentTaps | None

    @cached_property
    def _plan(self) -> ConvolutionPlan:
        return self.whole.plan

    @cached_property
    def _reductions(self) -> tuple[int, ...]:
        return self._plan.nest.reductions

    @cached_property
    def _extents(self) -> list[int]:
        return [self._plan.nest.loops[number].extent for number in self._reductions]

    def emit(self, position: Position, column: ir.Value, panel: ir.Value, first: ir.Value) -> None:
        """Emit a block of rows, whose first tile has the number `first`."""
        tile, tiles = self._plan.tile, self.rows.tiles
        left = integers.subi(index(tiles), first)
        fits = not isinstance(tiles, Size) and tiles <= ROW_TILES
        count = index(tiles) if fits else integers.minsi(index(ROW_TILES), left)
        is_long = prod(self._extents) > _ONE_BLOCK
        code = self.epilogue.code
        is_short = self.epilogue.size * tile.rows * tile.vectors <= _MAX_CLONED
        rows = _Rows(self, position, column, panel, first, count)
        if is_long or (code is not None and (code.is_in_place or not is_short)):
            rows.emit_through_strip(is_long=is_long)
        else:
            rows.emit_directly()


@dataclass(frozen=True)
class _Rows:
    """One block of rows for one tile of columns."""

    body: _Body
    position: Position
    column: ir.Value
    panel: ir.Value
    first: ir.Value
    count: ir.Value

    @cached_property
    def _plan(self) -> ConvolutionPlan:
        return self.body._plan

    def emit_directly(self) -> None:
        """Compute every tile at once, and store it."""
        steps = prod(self.body._extents)
        with loop(self.count) as number:
            tile = self._tile(number)
            self._prefetch(self.panel, number, steps)
            accumulators = [self._initial()] * (self._plan.tile.rows * self._plan.tile.vectors)
            accumulators = self._over_taps(tile, accumulators)
            put = self._put(tile)
            for each, value in enumerate(accumulators):
                put(value, *divmod(each, self._plan.tile.vectors))

    def emit_through_strip(self, *, is_long: bool) -> None:
        """Compute all tiles block by block of the reduction, then store them row by row."""
        tile = self._plan.tile
        element = self.body.whole.initial.type
        strip = allocate(ROW_TILES * tile.rows * tile.columns, element)
        if is_long:
            with loop(self.count) as number:
                values = [self._initial()] * (tile.rows * tile.vectors)
                self._keep(strip, number, values)
            self._blocks(strip)
        else:
            with loop(self.count) as number:
                accumulators = [self._initial()] * (tile.rows * tile.vectors)
                self._keep(strip, number, self._over_taps(self._tile(number), accumulators))
        self._finish(strip)

    def _blocks(self, strip: ir.Value) -> None:
        """Add block after block of the reduction to the tiles in the strip."""
        taps, steps = self._taps, self._steps
        blocks = _tiles(steps, _BLOCK)
        size = _tiles(steps, blocks)

        def add(inside: Position) -> None:
            with loop(blocks) as block:
                first = integers.muli(block, index(size))
                rest = integers.subi(index(steps), first)
                count = index(size) if steps % size == 0 else integers.minsi(index(size), rest)
                with loop(self.count) as number:
                    tile = self._tile(number)
                    with self._where_met(tile, inside):
                        accumulators = self._kept(strip, number)
                        places = self._places(tile, inside, first)
                        self._prefetch(places[0], number, size)
                        self._keep(strip, number, self._run(places, count, accumulators))

        loops = [(number, self._plan.nest.loops[number].extent) for number in taps]
        nested_loops(loops, {}, add)

    @contextmanager
    def _where_met(self, tile: ir.Value, inside: Position) -> Iterator[None]:
        """Do what is emitted inside for tiles that meet the taps at which the loops stand."""
        met = None
        for tap, value in inside.items():
            if self.body.rows.meets_all(tap):
                continue
            first, end = self.body.rows.taps(tile, tap)
            above = arith.cmpi(arith.CmpIPredicate.sge, value, first)
            both = integers.andi(above, arith.cmpi(arith.CmpIPredicate.slt, value, end))
            met = both if met is None else integers.andi(met, both)
        if self.body.absent is not None:
            present = self.body.absent.is_present(self._weights(inside))
            met = present if met is None else integers.andi(met, present)
        if met is None:
            yield
            return
        branch = scf.IfOp(met)
        with ir.InsertionPoint(branch.then_block):
            yield
            scf.YieldOp([])

    def _prefetch(self, panel: ir.Value, number: ir.Value, steps: int) -> None:
        """Ask for the weights of the next block, for every tile a share of them."""
        tile = self._plan.tile
        line = _LINE_BYTES // ITEM_BYTES[str(self.body.whole.initial.type)]
        tiles = min(hint_of(self.body.rows.tiles), ROW_TILES)
        share = _tiles(steps * tile.columns, line * tiles)
        size = ir.MemRefType(self.body.panels.value.type).shape[0]
        start = integers.addi(panel, index(steps * tile.columns))
        start = integers.addi(start, integers.muli(number, index(share * line)))
        with loop(share) as each:
            place = integers.addi(start, integers.muli(each, index(line)))
            prefetch(self.body.panels, integers.minsi(place, index(size - 1)))

    def _finish(self, strip: ir.Value) -> None:
        tile = self._plan.tile
        kind = ir.VectorType.get([tile.lanes], self.body.whole.initial.type)
        with loop(self.count) as number:
            put = self._put(self._tile(number))
            built = scf.ForOp(*self.body.rows.written(self._tile(number)), index(1))
            with ir.InsertionPoint(built.body):
                row = built.induction_variable
                slot = integers.muli(number, index(tile.rows * tile.columns))
                slot = integers.addi(slot, integers.muli(row, index(tile.columns)))
                for vector in range(tile.vectors):
                    place = integers.addi(slot, index(vector * tile.lanes))
                    put(emit("vector.load", [strip, place], kind), row, vector)
                scf.YieldOp([])

    def _initial(self) -> ir.Value:
        return broadcast(self.body.whole.initial, self._plan.tile.lanes)

    def _keep(self, strip: ir.Value, number: ir.Value, values: Sequence[ir.Value]) -> None:
        for value, place in zip(values, self._slots(number, len(values)), strict=True):
            ir.Operation.create("vector.store", operands=[value, strip, place])

    def _kept(self, strip: ir.Value, number: ir.Value) -> list[ir.Value]:
        tile = self._plan.tile
        kind = ir.VectorType.get([tile.lanes], self.body.whole.initial.type)
        slots = self._slots(number, tile.rows * tile.vectors)
        return [emit("vector.load", [strip, place], kind) for place in slots]

    def _slots(self, number: ir.Value, count: int) -> list[ir.Value]:
        lanes = self._plan.tile.lanes
        start = integers.muli(number, index(count * lanes))
        return [integers.addi(start, index(each * lanes)) for each in range(count)]

    def _tile(self, number: ir.Value) -> ir.Value:
        """The number of a tile of the block among all."""
        return integers.addi(self.first, number)

    def _put(self, tile: ir.Value) -> Put:
        rows = self.body.rows
        return rows.put(self.body.epilogue, self.position, rows.start(tile), self.column)

    @cached_property
    def _taps(self) -> tuple[int, ...]:
        return self.body._reductions[: -self._plan.run]

    @cached_property
    def _steps(self) -> int:
        return prod(self.body._extents[-self._plan.run :])

    def _over_taps(self, tile: ir.Value, accumulators: Sequence[ir.Value]) -> list[ir.Value]:
        """Add the whole reduction to the accumulators of a tile."""
        return self._nested(self._taps, {}, tile, accumulators)

    def _nested(
        self,
        taps: Sequence[int],
        inside: Position,
        tile: ir.Value,
        accumulators: Sequence[ir.Value],
    ) -> list[ir.Value]:
        if not taps:
            return self._tap(tile, inside, accumulators)
        built = scf.ForOp(*self.body.rows.taps(tile, taps[0]), index(1), list(accumulators))
        with ir.InsertionPoint(built.body):
            step = {taps[0]: built.induction_variable}
            carried = list(built.inner_iter_args)
            scf.YieldOp(self._nested(taps[1:], inside | step, tile, carried))
        return list(built.results)

    def _tap(
        self, tile: ir.Value, inside: Position, accumulators: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Add one tap, if there is such a one."""
        absent = self.body.absent
        if absent is None:
            return self._run(self._places(tile, inside, index(0)), index(self._steps), accumulators)
        kinds = [each.type for each in accumulators]
        branch = scf.IfOp(absent.is_present(self._weights(inside)), kinds, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            places = self._places(tile, inside, index(0))
            scf.YieldOp(self._run(places, index(self._steps), accumulators))
        with ir.InsertionPoint(branch.else_block):
            scf.YieldOp(list(accumulators))
        return list(branch.results)

    def _weights(self, inside: Position) -> ir.Value:
        """Return where the weights of a run start."""
        return plus(offset(self.body.panels, self._outside | inside), self.panel)

    @cached_property
    def _outside(self) -> Position:
        return {k: v for k, v in self.position.items() if k < self._plan.row}

    def _places(self, tile: ir.Value, inside: Position, first: ir.Value) -> list[ir.Value]:
        """Return where a run starts: in the panel, and in the input for every row of a tile.

        Args:
            tile: the number of the tile.
            inside: where the loops over taps stand.
            first: the first step of the run.
        """
        nest = self._plan.nest
        image = nest.inputs[self._plan.image]
        panel = self._weights(inside)
        panel = integers.addi(panel, integers.muli(first, index(self._plan.tile.columns)))
        step = image.strides[self.body._reductions[-1]]
        base = plus(offset(image, self._outside | inside), integers.muli(first, index(step)))
        sources = self.body.rows.sources(self.body.rows.start(tile))
        return [panel, *(integers.addi(base, source) for source in sources)]

    def _run(
        self, places: Sequence[ir.Value], count: ir.Value, accumulators: Sequence[ir.Value]
    ) -> list[ir.Value]:
        """Add `count` steps, which start at `places` in the panel and for every row."""
        tile = self._plan.tile
        image = self._plan.nest.inputs[self._plan.image]
        step = image.strides[self.body._reductions[-1]]
        kind = ir.VectorType.get([tile.lanes], self.body.whole.initial.type)
        built = scf.ForOp(index(0), count, index(1), list(accumulators))
        with ir.InsertionPoint(built.body):
            number = built.induction_variable
            weights = integers.addi(places[0], integers.muli(number, index(tile.columns)))
            factors = [
                emit("vector.load", [self.body.panels.value, _moved(weights, v * tile.lanes)], kind)
                for v in range(tile.vectors)
            ]
            along = integers.muli(number, index(step))
            results = []
            for row in range(tile.rows):
                x = broadcast(load(image, integers.addi(places[1 + row], along)), tile.lanes)
                for vector, factor in enumerate(factors):
                    pair = [x, factor] if self._plan.image == 0 else [factor, x]
                    running = built.inner_iter_args[row * tile.vectors + vector]
                    body = self._plan.nest.body
                    results.append(emit_on_vectors(body, [*pair, running], tile.lanes))
            scf.YieldOp(results)
        return list(built.results)


def _moved(start: ir.Value, distance: int) -> ir.Value:
    return integers.addi(start, index(distance)) if distance else start


def _tiles(extent: int, size: int) -> int:
    return -(-extent // size)


def prefetch(access: BufferOperand, place: ir.Value) -> None:
    """Ask for the line of memory of one element, for reading, in the second-level cache."""
    ir.Operation.create(
        "memref.prefetch",
        operands=[access.value, place],
        attributes={
            "isWrite": ir.BoolAttr.get(value=False),
            "localityHint": ir.IntegerAttr.get(ir.IntegerType.get_signless(32), 2),
            "isDataCache": ir.BoolAttr.get(value=True),
        },
    )
