# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits a convolution of 3 x 3 taps as Winograd's F(2x2, 3x3) with channels innermost.

A block of tiles of the image is transformed into 16 matrices of tiles by channels; each is
multiplied by its matrix of transformed weights; what comes out is transformed back tile by tile.
One loop over blocks is shared by threads, or, where one block is all, the loops inside of it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.conv.emitter import prefetch
from xyntra.passes.lower.cpu.matmul.micro_kernel import MicroKernel, TileOperand
from xyntra.passes.lower.cpu.winograd.image import PaddedImage, PaddedTiles
from xyntra.passes.lower.cpu.winograd.plan import WinogradPlan
from xyntra.passes.lower.cpu.winograd.results import WinogradResults
from xyntra.passes.lower.cpu.winograd.transforms import OUTPUTS, POINTS, transformed_inputs
from xyntra.passes.lower.cpu.winograd.weights import WinogradWeights
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    loop,
    nested_loops,
    plus,
    tile_start,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast

_SQUARE = POINTS * POINTS
_POINT, _PANEL = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_LINE_BYTES = 64
_NEAR_BYTES = 1 << 20  # of weights, which a second-level cache may hold beside


@dataclass(frozen=True)
class Matrices:
    """16 matrices in scratch memory, a row for every tile of a block.

    Attributes:
        memory: of one dimension.
        columns: elements of one row.
        point: elements from one matrix to the next. A line more than there are, or a row of all
            matrices would lie in one set of the first-level cache.
    """

    memory: ir.Value
    columns: int
    point: int

    @classmethod
    def allocated(cls, rows: int, columns: int, element: ir.Type) -> Matrices:
        """Allocate at the insertion point."""
        point = rows * columns + _LINE_BYTES // ITEM_BYTES[str(element)]
        return cls(allocate(_SQUARE * point, element), columns, point)

    def places(self, row: ir.Value, column: ir.Value) -> list[ir.Value]:
        """Return where one element of each matrix is."""
        first = integers.addi(integers.muli(row, index(self.columns)), column)
        return [integers.addi(first, index(number * self.point)) for number in range(_SQUARE)]


@dataclass(frozen=True)
class WinogradEmitter:
    """Writes one convolution at the current insertion point.

    Attributes:
        plan: its tiles.
        source: the image.
        initial: the scalar that every element of the output starts from.
        code: what happens to each element of the result before it is stored, if anything.
    """

    plan: WinogradPlan
    source: PaddedImage
    initial: ir.Value
    code: Epilogue | None

    def emit(self) -> None:
        """Emit all loops."""
        plan = self.plan
        weights = WinogradWeights.filled(plan)
        if plan.block == plan.tiles:
            self._block(weights, index(0), index(plan.tiles))
            return
        with loop(-(-plan.tiles // plan.block), parallel=True) as number:
            first = integers.muli(number, index(plan.block))
            left = integers.subi(index(plan.tiles), first)
            self._block(weights, first, integers.minsi(index(plan.block), left))

    def _block(self, weights: WinogradWeights, first: ir.Value, count: ir.Value) -> None:
        """Do the `count` tiles from number `first` on."""
        plan, element = self.plan, self.initial.type
        rows = -(-plan.block // plan.tile.rows) * plan.tile.rows
        image = Matrices.allocated(rows, plan.channels, element)
        sums = Matrices.allocated(rows, plan.panels * plan.tile.columns, element)
        padded = PaddedTiles(plan, self.source)
        with loop(count, parallel=True) as number:
            self._transform(padded, integers.addi(first, number), image, number)
        self._multiply(weights, image, sums, count)
        results = WinogradResults(plan, padded, self.initial, self.code)
        with loop(count, parallel=True) as number:
            column = index(0)
            results.emit(
                self.position(integers.addi(first, number)),
                sums.memory,
                sums.places(number, column),
            )

    def position(self, number: ir.Value) -> Position:
        """Where a tile is: its place along the loops around, and its first row and column."""
        plan = self.plan
        found: Position = {}
        keys = [*plan.outer, *plan.positions]
        for key, extent in reversed(list(zip(keys, plan.grid, strict=True))):
            is_last = key == keys[0]
            found[key] = number if is_last else integers.remui(number, index(extent))
            number = number if is_last else integers.divui(number, index(extent))
        for key in plan.positions:
            found[key] = integers.muli(found[key], index(OUTPUTS))
        return found

    def _transform(
        self, padded: PaddedTiles, number: ir.Value, image: Matrices, row: ir.Value
    ) -> None:
        """Transform the inputs of one tile into one row of every matrix."""

        def transform(memory: ir.Value, start: ir.Value, down: int, along: int) -> None:
            lanes, channels = self.plan.tile.lanes, self.plan.channels
            kind = ir.VectorType.get([lanes], self.initial.type)
            with loop(-(-channels // lanes)) as vector:
                channel = tile_start(vector, lanes, channels)
                base = integers.addi(start, channel)
                places = [
                    integers.addi(base, index(i * down + j * along))
                    for i, j in product(range(POINTS), repeat=2)
                ]
                inputs = [emit("vector.load", [memory, place], kind) for place in places]
                values = transformed_inputs(inputs)
                for value, place in zip(values, image.places(row, channel), strict=True):
                    ir.Operation.create("vector.store", operands=[value, image.memory, place])

        padded.visit(self.position(number), transform)

    def _multiply(
        self, weights: WinogradWeights, image: Matrices, sums: Matrices, count: ir.Value
    ) -> None:
        """Multiply every matrix of the image by the weights of its point."""
        plan, tile = self.plan, self.plan.tile
        kernel, operands = self._kernel(weights, image)
        zero = emit(
            "arith.constant", [], self.initial.type, value=ir.FloatAttr.get(self.initial.type, 0.0)
        )
        strips = integers.ceildivui(count, index(tile.rows))

        def panel(position: Position) -> None:
            point, number = position[_POINT], position[_PANEL]
            start = integers.muli(number, index(weights.panel))
            with loop(strips) as strip:
                row = integers.muli(strip, index(tile.rows))
                self._prefetch(
                    weights, plus(integers.muli(point, index(weights.point)), start), strip
                )
                values = kernel.emit(
                    {0: point, 1: row},
                    operands(start),
                    [broadcast(zero, tile.lanes)] * kernel.accumulators,
                )
                column = integers.muli(number, index(tile.columns))
                base = plus(
                    integers.muli(point, index(sums.point)),
                    integers.muli(row, index(sums.columns)),
                    column,
                )
                for each, value in enumerate(values):
                    r, v = divmod(each, tile.vectors)
                    place = integers.addi(base, index(r * sums.columns + v * tile.lanes))
                    ir.Operation.create("vector.store", operands=[value, sums.memory, place])

        nested_loops([(_POINT, _SQUARE), (_PANEL, plan.panels)], {}, panel, parallel=True)

    def _prefetch(self, weights: WinogradWeights, panel: ir.Value, strip: ir.Value) -> None:
        """Ask for the panel behind `panel`, for every strip of tiles a share of it."""
        size = ir.MemRefType(weights.memory.type).shape[0]
        line = _LINE_BYTES // ITEM_BYTES[str(self.initial.type)]
        if size * ITEM_BYTES[str(self.initial.type)] < _NEAR_BYTES:
            return
        strips = -(-self.plan.block // self.plan.tile.rows)
        share = -(-weights.panel // (line * strips))
        first = plus(panel, index(weights.panel), integers.muli(strip, index(share * line)))
        with loop(share) as number:
            place = integers.addi(first, integers.muli(number, index(line)))
            prefetch(BufferOperand(weights.memory, 0, ()), integers.minsi(place, index(size - 1)))

    def _kernel(
        self, weights: WinogradWeights, image: Matrices
    ) -> tuple[MicroKernel, Callable[[ir.Value], list[TileOperand]]]:
        """The products of all points as one contraction, and its operands for a panel."""
        plan, tile = self.plan, self.plan.tile
        extents = (_SQUARE, plan.block, tile.columns, plan.channels)
        loops = tuple(
            Loop(extent, is_reduction=number == 3) for number, extent in enumerate(extents)
        )
        rows = BufferOperand(image.memory, 0, (image.point, image.columns, 0, 1))
        columns = BufferOperand(weights.memory, 0, (weights.point, 0, 1, tile.columns))
        inputs = (rows, columns) if plan.image == 0 else (columns, rows)
        nest = LinearNest(loops, inputs, (), plan.nest.body)

        def operands(start: ir.Value) -> list[TileOperand]:
            return [
                TileOperand(each, start, 1) if each is columns else TileOperand(each, index(0), 0)
                for each in inputs
            ]

        return MicroKernel(nest, replace(tile, row_loop=1, column_loops=(2,))), operands
