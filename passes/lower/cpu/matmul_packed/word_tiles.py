# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products that read a packed matrix in words, and dequantize in three instructions.

An integer of four or eight bits, masked where it stands in a word and combined with the right
exponent, is a float: that of the exponent plus the integer. Less the same with the zero point, it
is the difference of both, exactly. Integers in the upper half of a word would reach the exponent,
and are moved to the lower half first. Sums over a block are multiplied with its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import prod

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.panels.panel_prefetch import prefetch
from xyntra.passes.lower.cpu.matmul.sums_of_lanes import sums_of_lanes
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedProduct
from xyntra.passes.lower.cpu.matmul_packed.word_plan import WORD, WordChoices, WordProduct
from xyntra.passes.lower.cpu.matmul_packed.word_rows import WordRows
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

__all__ = ["WordTiles"]

_ROWS, _COLUMNS = -1, -2  # keys of a `Position` beside the numbers of the nest's loops
_MANTISSA, _BIAS = 23, 127


@dataclass(frozen=True)
class WordTiles:
    """The code of a product.

    Attributes:
        product: over flat views.
        told: its tiles.
        initial: the scalar that every element of the output starts from.
    """

    product: WordProduct
    told: WordChoices
    initial: ir.Value

    @property
    def _found(self) -> PackedProduct:
        return self.product.found

    def emit(self) -> None:
        """Emit all loops; the matrix is read once."""
        rows = WordRows.made(self.product, self.told.vector)
        height, width = self.told.tile
        columns = self._found.nest.loops[self._found.column].extent
        tiles = [(_COLUMNS, -(-columns // width)), (_ROWS, -(-self._found.rows // height))]
        nested_loops(tiles, {}, lambda place: self._tile(rows, place), parallel=True)

    def _tile(self, rows: WordRows, position: Position) -> None:
        found, (height, width) = self._found, self.told.tile
        columns = found.nest.loops[found.column].extent
        first = tile_start(position[_ROWS], height, found.rows)
        place = {found.column: tile_start(position[_COLUMNS], width, columns)}
        if found.row is not None:
            place[found.row] = first
        start = [identity(found.combining, self.told.vector)] * prod(self.told.tile)
        built = carrying_loop(rows.chunks, start)
        with ir.InsertionPoint(built.body):
            chunk = built.induction_variable
            scf.YieldOp(self._chunk(rows, place, first, chunk, list(built.inner_iter_args)))
        initial, output = broadcast(self.initial, width), found.nest.outputs[0]
        for row in range(height):
            lanes = sums_of_lanes(self._add, built.results[row * width : (row + 1) * width])
            distance = 0 if found.row is None else row * output.strides[found.row]
            to = plus(offset(output, place), index(distance))
            self._store(self._add(initial, lanes), output, to)

    def _store(self, value: ir.Value, output: BufferOperand, first: ir.Value) -> None:
        step = output.strides[self._found.column]
        if step == 1:
            ir.Operation.create("vector.store", operands=[value, output.value, first])
            return
        for lane in range(self.told.tile[1]):
            store(lane_of(value, lane), output, plus(first, index(lane * step)))

    def _chunk(
        self,
        rows: WordRows,
        place: Position,
        row: ir.Value,
        chunk: ir.Value,
        accumulators: list[ir.Value],
    ) -> list[ir.Value]:
        """Add what a vector of words of every column comes to."""
        height, width = self.told.tile
        first = rows.first_byte(chunk)
        numbers = [plus(row, index(each)) for each in range(height)]
        for column in range(width):
            zero, scale = self._of_blocks(place, column, first)
            sums: list[ir.Value | None] = [None] * height
            for field, weight in enumerate(self._integers(place, column, first, zero)):
                for each, number in enumerate(numbers):
                    product = self._multiply(rows.read(number, chunk, field), weight)
                    before = sums[each]
                    sums[each] = product if before is None else self._add(before, product)
            for each, total in enumerate(sums):
                at = each * width + column
                if total is not None:
                    accumulators[at] = self._add(accumulators[at], self._multiply(total, scale))
        return accumulators

    def _integers(
        self, place: Position, column: int, first: ir.Value, zero: ir.Value
    ) -> list[ir.Value]:
        """Return the integers of a vector of words, less their zero points, as f32."""
        packed, bits = self.product.packed, self.product.bits
        start = plus(offset(packed, place), index(column * packed.strides[self._found.column]))
        narrow = ir.VectorType.get([WORD * self.told.vector], packed.element_type)
        place_of_words = plus(start, first)
        self._ask_ahead(packed, place_of_words)
        loaded = emit("vector.load", [packed.value, place_of_words], narrow)
        words = emit("vector.bitcast", [loaded], self._words)
        half = self.product.fields // 2
        upper = emit("arith.shrui", [words, self._word(bits * half)], self._words)
        bases = [self._base(field, zero) for field in range(half)]
        found = []
        for source in (words, upper):
            for field in range(half):
                mask = self._word(((1 << bits) - 1) << bits * field)
                exponent = self._word(self._exponent(field))
                value = integers.ori(integers.andi(source, mask), exponent)
                value = emit("arith.bitcast", [value], self._floats)
                found.append(emit("arith.subf", [value, bases[field]], self._floats))
        return found

    def _ask_ahead(self, packed: BufferOperand, place: ir.Value) -> None:
        """Prefetch what is read later on: columns follow each other in memory."""
        if self.told.ahead:
            last = ir.MemRefType(packed.value.type).shape[0] - 1
            ahead = integers.minsi(plus(place, index(self.told.ahead)), index(last))
            prefetch(packed.value, ahead, level=1)

    def _exponent(self, field: int) -> int:
        """Return the bits of the float whose mantissa's bit at `field` is worth 1."""
        return (_BIAS + _MANTISSA - self.product.bits * field) << _MANTISSA

    def _base(self, field: int, zero: ir.Value) -> ir.Value:
        """Return what the float of `field` is where the integer is the zero point."""
        exponent = emit("arith.bitcast", [self._word(self._exponent(field))], self._floats)
        return emit("arith.addf", [exponent, zero], self._floats)

    def _of_blocks(
        self, place: Position, column: int, first: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        """Return zero points and scales, as f32, for the words from byte `first` on."""
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
        kind = ir.VectorType.get([count], ir.F32Type.get())
        zero = emit("arith.sitofp", [values[product.zero]], kind)
        return self._spread(zero), self._spread(values[product.scale])

    def _values(self, access: BufferOperand, start: ir.Value, count: int) -> ir.Value:
        if count == 1:
            return broadcast(load(access, start), 1)
        kind = ir.VectorType.get([count], access.element_type)
        return emit("vector.load", [access.value, start], kind)

    def _spread(self, value: ir.Value) -> ir.Value:
        """Repeat each element for the words of its block."""
        lanes, count = self.told.vector, ir.VectorType(value.type).shape[0]
        mask = ir.DenseI64ArrayAttr.get([lane * count // lanes for lane in range(lanes)])
        return emit("vector.shuffle", [value, value], self._floats, mask=mask)

    @cached_property
    def _words(self) -> ir.Type:
        return ir.VectorType.get([self.told.vector], ir.IntegerType.get_signless(32))

    @cached_property
    def _floats(self) -> ir.Type:
        return ir.VectorType.get([self.told.vector], ir.F32Type.get())

    def _word(self, number: int) -> ir.Value:
        kind = ir.IntegerType.get_signless(32)
        value = ir.DenseElementsAttr.get_splat(self._words, ir.IntegerAttr.get(kind, number))
        return emit("arith.constant", [], self._words, value=value)

    def _add(self, first: ir.Value, second: ir.Value) -> ir.Value:
        return combine(self._found.combining, first, second)

    def _multiply(self, first: ir.Value, second: ir.Value) -> ir.Value:
        contract = ir.Attribute.parse("#arith.fastmath<contract>")
        return emit("arith.mulf", [first, second], first.type, fastmath=contract)
