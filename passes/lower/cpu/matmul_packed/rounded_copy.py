# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies rows of 8 bits to the order in which bytes of a packed matrix hold its integers.

A vector of bytes of the matrix meets two vectors of the row, the integers of even places and those
of odd ones. Zero points are taken off before: the sum of four neighbours times the zero point is
what a sum of products starts from.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul_int8.dot_products import DotProduct
from xyntra.passes.lower.cpu.matmul_packed.column_tiles import repeated, splat
from xyntra.passes.lower.cpu.matmul_packed.rounded_plan import RoundedProduct
from xyntra.passes.lower.cpu.matmul_packed.word_plan import WORD
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, index, nested_loops, offset, plus
from xyntra.passes.lower.loops.memrefs import allocate

__all__ = ["RoundedCopy"]

_ROW, _CHUNK = 0, 1


@dataclass(frozen=True)
class RoundedCopy:
    """The copy: for each row and each vector of words of a column what these meet.

    The last vector ends with the column: what the one before has met already is 0 in it.

    Attributes:
        product: whose rows these are.
        lanes: words of a vector.
        dot: multiplies and adds integers.
        halves: i8, [rows, chunks, 2, bytes of a vector].
        starts: i32, [rows, chunks, lanes]; what the zero point takes off, or, where each block has
            its own, off for each unit of it.
        scales: f32, [rows, chunks, lanes].
    """

    product: RoundedProduct
    lanes: int
    dot: DotProduct
    halves: BufferOperand
    starts: BufferOperand
    scales: BufferOperand

    @classmethod
    def made(cls, product: RoundedProduct, lanes: int, dot: DotProduct) -> RoundedCopy:
        """Emit the copy."""
        chunks, rows = product.chunks(lanes), product.found.rows

        def memory(size: int, element: ir.Type) -> BufferOperand:
            return BufferOperand(allocate(rows * chunks * size, element), 0, (chunks * size, size))

        word, byte = ir.IntegerType.get_signless(32), ir.IntegerType.get_signless(8)
        found = cls(
            product,
            lanes,
            dot,
            memory(2 * WORD * lanes, byte),
            memory(lanes, word),
            memory(lanes, ir.F32Type.get()),
        )
        nested_loops([(_ROW, rows), (_CHUNK, chunks)], {}, found._copy_chunk, parallel=True)
        return found

    def half(self, row: ir.Value, chunk: ir.Value, number: int) -> ir.Value:
        """Return what meets the low integers of a vector of bytes (0), or the high ones (1)."""
        place = plus(self._place(self.halves, row, chunk), index(number * WORD * self.lanes))
        return emit("vector.load", [self.halves.value, place], self._bytes(1))

    def start(self, row: ir.Value, chunk: ir.Value) -> ir.Value:
        """Return what zero points take off, or off for each unit of them."""
        place = self._place(self.starts, row, chunk)
        return emit("vector.load", [self.starts.value, place], self._words)

    def scale(self, row: ir.Value, chunk: ir.Value) -> ir.Value:
        """Return the scales of the row for the blocks of a vector."""
        kind = ir.VectorType.get([self.lanes], ir.F32Type.get())
        return emit("vector.load", [self.scales.value, self._place(self.scales, row, chunk)], kind)

    @property
    def _words(self) -> ir.Type:
        return ir.VectorType.get([self.lanes], ir.IntegerType.get_signless(32))

    def _bytes(self, count: int) -> ir.Type:
        size = count * WORD * self.lanes
        return ir.VectorType.get([size], ir.IntegerType.get_signless(8))

    def _place(self, memory: BufferOperand, row: ir.Value, chunk: ir.Value) -> ir.Value:
        return offset(memory, {_ROW: row, _CHUNK: chunk})

    def _copy_chunk(self, place: Position) -> None:
        row, chunk = place[_ROW], place[_CHUNK]
        first = self.product.first_byte(chunk, self.lanes)
        halves = self._halves(row, chunk, first)
        total, ones = splat(self._words, 0), splat(self._bytes(1), 1)
        for number, half in enumerate(halves):
            to = plus(self._place(self.halves, row, chunk), index(number * WORD * self.lanes))
            ir.Operation.create("vector.store", operands=[half, self.halves.value, to])
            total = self.dot.accumulate(total, ones, half)
        zero = self.product.known_zero
        factor = splat(self._words, -1 if zero is None else -zero)
        self._store(integers.muli(total, factor), self.starts, row, chunk)
        self._store(self._block_scales(row, first), self.scales, row, chunk)

    def _store(self, value: ir.Value, to: BufferOperand, row: ir.Value, chunk: ir.Value) -> None:
        operands = [value, to.value, self._place(to, row, chunk)]
        ir.Operation.create("vector.store", operands=operands)

    def _halves(self, row: ir.Value, chunk: ir.Value, first: ir.Value) -> list[ir.Value]:
        """Return the integers of a row in even places, and those in odd ones."""
        found, low = self.product.found, self.product.rows[0]
        own = {found.step: first}  # blocks follow each other as their bytes do
        if found.row is not None:
            own[found.row] = row
        whole = emit("vector.load", [low.value, offset(low, own)], self._bytes(2))
        halves = []
        for number in range(2):
            mask = ir.DenseI64ArrayAttr.get(list(range(number, 2 * WORD * self.lanes, 2)))
            half = emit("vector.shuffle", [whole, whole], self._bytes(1), mask=mask)
            halves.append(self._new_alone(half, chunk, first))
        return halves

    def _new_alone(self, half: ir.Value, chunk: ir.Value, first: ir.Value) -> ir.Value:
        """Return integers of a row with 0 for those that the vector before has met."""
        size = WORD * self.lanes
        if self.product.column_bytes % size == 0:
            return half
        word = ir.IntegerType.get_signless(32)
        met = integers.subi(integers.muli(chunk, index(size)), first)
        met = emit("arith.index_cast", [met], word)
        met = emit("vector.broadcast", [met], self._words)
        places = [ir.IntegerAttr.get(word, WORD * lane) for lane in range(self.lanes)]
        value = ir.DenseElementsAttr.get(places, self._words)
        place = emit("arith.constant", [], self._words, value=value)
        is_new = arith.cmpi(arith.CmpIPredicate.sge, place, met)
        words = emit("vector.bitcast", [half], self._words)
        words = emit("arith.select", [is_new, words, splat(self._words, 0)], self._words)
        return emit("vector.bitcast", [words], self._bytes(1))

    def _block_scales(self, row: ir.Value, first: ir.Value) -> ir.Value:
        product, found = self.product, self.product.found
        count = max(1, WORD * self.lanes // product.block_bytes)
        own = {number: integers.divui(first, index(product.block_bytes)) for number in found.blocks}
        if found.row is not None:
            own[found.row] = row
        access = product.row_scales
        kind = ir.VectorType.get([count], access.element_type)
        value = emit("vector.load", [access.value, offset(access, own)], kind)
        return repeated(value, self.lanes)
