# SPDX-License-Identifier: MIT OR Apache-2.0
"""Walks the columns of a packed matrix in vectors of words, with a tile of results in registers."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import Generic, TypeVar

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.panels.panel_prefetch import prefetch
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedProduct
from xyntra.passes.lower.cpu.matmul_packed.word_plan import WORD, BlockedProduct, WordChoices
from xyntra.passes.lower.cpu.rows.vector_reduction import combine, identity
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    carrying_loop,
    index,
    load,
    nested_loops,
    offset,
    plus,
    store,
    tile_start,
)
from xyntra.passes.lower.loops.vector_body import broadcast, emit_values, lane_of

__all__ = ["ColumnTiles", "RowsOfChunk", "repeated", "splat"]

Rows = TypeVar("Rows")

_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops


def repeated(value: ir.Value, lanes: int) -> ir.Value:
    """Return a vector of `lanes` elements that has each element of a shorter one several times."""
    given = ir.VectorType(value.type)
    count, kind = given.shape[0], ir.VectorType.get([lanes], given.element_type)
    mask = ir.DenseI64ArrayAttr.get([lane * count // lanes for lane in range(lanes)])
    return emit("vector.shuffle", [value, value], kind, mask=mask)


def splat(kind: ir.Type, number: int) -> ir.Value:
    """Return a vector of one integer."""
    element = ir.IntegerAttr.get(ir.VectorType(kind).element_type, number)
    return emit("arith.constant", [], kind, value=ir.DenseElementsAttr.get_splat(kind, element))


@dataclass(frozen=True)
class RowsOfChunk:
    """Where the rows of a tile meet a vector of words.

    Attributes:
        rows: their numbers.
        chunk: number of the vector in its column.
        first: byte of the column that it starts with.
    """

    rows: tuple[ir.Value, ...]
    chunk: ir.Value
    first: ir.Value


@dataclass(frozen=True)
class ColumnTiles(Generic[Rows]):
    """The code of a product; subclasses say what a vector of words comes to.

    Attributes:
        product: over flat views.
        told: its tiles.
        initial: the scalar that every element of the output starts from.
    """

    product: BlockedProduct
    told: WordChoices
    initial: ir.Value

    def copied_rows(self) -> Rows:
        """Emit a copy of the rows, in the order in which vectors of words meet them."""
        raise NotImplementedError

    def add_chunk(
        self, rows: Rows, place: Position, met: RowsOfChunk, sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Return `sums`, row by row, with what a vector of words of every column comes to.

        Args:
            rows: the copy.
            place: of the tile, in the loops of the nest.
            met: which rows meet which vector.
            sums: vectors of f32.
        """
        raise NotImplementedError

    @property
    def _found(self) -> PackedProduct:
        return self.product.found

    def emit(self) -> None:
        """Emit all loops; the matrix is read once."""
        rows = self.copied_rows()
        height, width = self.told.tile
        columns = self._found.nest.loops[self._found.column].extent
        tiles = [(_COLUMNS, -(-columns // width)), (_ROWS, -(-self._found.rows // height))]
        nested_loops(tiles, {}, lambda place: self._tile(rows, place), parallel=True)

    def _tile(self, rows: Rows, position: Position) -> None:
        found, (height, width) = self._found, self.told.tile
        columns = found.nest.loops[found.column].extent
        first = tile_start(position[_ROWS], height, found.rows)
        place = {found.column: tile_start(position[_COLUMNS], width, columns)}
        if found.row is not None:
            place[found.row] = first
        start = [identity(found.combining, self.told.vector)] * prod(self.told.tile)
        built = carrying_loop(self.product.chunks(self.told.vector), start)
        with ir.InsertionPoint(built.body):
            chunk = built.induction_variable
            numbers = tuple(plus(first, index(each)) for each in range(height))
            at = RowsOfChunk(numbers, chunk, self.product.first_byte(chunk, self.told.vector))
            scf.YieldOp(self.add_chunk(rows, place, at, list(built.inner_iter_args)))
        initial, output = broadcast(self.initial, width), found.nest.outputs[0]
        for row in range(height):
            lanes = sums_of_lanes(self.add, built.results[row * width : (row + 1) * width])
            distance = 0 if found.row is None else row * output.strides[found.row]
            to = plus(offset(output, place), index(distance))
            self._store(self.add(initial, lanes), output, to)

    def _store(self, value: ir.Value, output: BufferOperand, first: ir.Value) -> None:
        step = output.strides[self._found.column]
        if step == 1:
            ir.Operation.create("vector.store", operands=[value, output.value, first])
            return
        for lane in range(self.told.tile[1]):
            store(lane_of(value, lane), output, plus(first, index(lane * step)))

    def load_bytes(self, place: Position, column: int, first: ir.Value) -> ir.Value:
        """Return the bytes of a vector of words of a column, from byte `first` on."""
        packed = self.product.packed
        start = plus(offset(packed, place), index(column * packed.strides[self._found.column]))
        narrow = ir.VectorType.get([WORD * self.told.vector], packed.element_type)
        place_of_words = plus(start, first)
        self._ask_ahead(packed, place_of_words)
        return emit("vector.load", [packed.value, place_of_words], narrow)

    def _ask_ahead(self, packed: BufferOperand, place: ir.Value) -> None:
        """Prefetch what is read later on: columns follow each other in memory."""
        if self.told.ahead:
            last = ir.MemRefType(packed.value.type).shape[0] - 1
            ahead = integers.minsi(plus(place, index(self.told.ahead)), index(last))
            prefetch(packed.value, ahead, level=1)

    def of_blocks(self, place: Position, column: int, first: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return zero points, as i32, and scales, as f32, for the words from byte `first` on."""
        product, lanes, found = self.product, self.told.vector, self._found
        each = max(1, product.block_bytes // WORD)  # words of a block
        count = max(1, lanes // each)
        own = dict(place)
        for number in found.blocks:
            own[number] = integers.divui(first, index(product.block_bytes))
        known = {}
        for argument, access in zip(found.nest.body.arguments, found.nest.inputs, strict=False):
            if access.is_scalar:
                known[argument] = broadcast(access.value, count)
            elif found.is_weight(access) and not access.strides[found.step]:
                start = plus(offset(access, own), index(column * access.strides[found.column]))
                known[argument] = self._values(access, start, count)
        values = emit_values(found.nest.body, [product.zero, product.scale], known, count)
        return values[product.zero], values[product.scale]

    def _values(self, access: BufferOperand, start: ir.Value, count: int) -> ir.Value:
        if count == 1:
            return broadcast(load(access, start), 1)
        kind = ir.VectorType.get([count], access.element_type)
        return emit("vector.load", [access.value, start], kind)

    def add(self, first: ir.Value, second: ir.Value) -> ir.Value:
        """Return a sum of f32."""
        return combine(self._found.combining, first, second)

    def multiply(self, first: ir.Value, second: ir.Value) -> ir.Value:
        """Return a product that may become one with the sum that it is added to."""
        contract = ir.Attribute.parse("#arith.fastmath<contract>")
        return emit("arith.mulf", [first, second], first.type, fastmath=contract)
