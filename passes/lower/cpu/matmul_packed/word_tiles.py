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

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul_packed.column_tiles import (
    ColumnTiles,
    RowsOfChunk,
    repeated,
    splat,
)
from xyntra.passes.lower.cpu.matmul_packed.word_plan import WordProduct
from xyntra.passes.lower.cpu.matmul_packed.word_rows import WordRows
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import Position

__all__ = ["WordTiles"]

_MANTISSA, _BIAS = 23, 127


@dataclass(frozen=True)
class WordTiles(ColumnTiles[WordRows]):
    """The code of a product of floats."""

    product: WordProduct

    def copied_rows(self) -> WordRows:
        """Copy what a vector of integers meets to where it lies side by side."""
        return WordRows.made(self.product, self.told.vector)

    def add_chunk(
        self, rows: WordRows, place: Position, met: RowsOfChunk, sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Add sums over blocks, times their scales."""
        width = self.told.tile[1]
        for column in range(width):
            zero, scale = self._floats_of_blocks(place, column, met.first)
            totals: list[ir.Value | None] = [None] * len(met.rows)
            for field, weight in enumerate(self._integers(place, column, met.first, zero)):
                for each, number in enumerate(met.rows):
                    product = self.multiply(rows.read(number, met.chunk, field), weight)
                    before = totals[each]
                    totals[each] = product if before is None else self.add(before, product)
            for each, total in enumerate(totals):
                at = each * width + column
                if total is not None:
                    sums[at] = self.add(sums[at], self.multiply(total, scale))
        return sums

    def _floats_of_blocks(
        self, place: Position, column: int, first: ir.Value
    ) -> tuple[ir.Value, ir.Value]:
        zero, scale = self.of_blocks(place, column, first)
        kind = ir.VectorType.get(ir.VectorType(zero.type).shape, ir.F32Type.get())
        lanes = self.told.vector
        return repeated(emit("arith.sitofp", [zero], kind), lanes), repeated(scale, lanes)

    def _integers(
        self, place: Position, column: int, first: ir.Value, zero: ir.Value
    ) -> list[ir.Value]:
        """Return the integers of a vector of words, less their zero points, as f32."""
        bits = self.product.bits
        loaded = self.load_bytes(place, column, first)
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

    def _exponent(self, field: int) -> int:
        """Return the bits of the float whose mantissa's bit at `field` is worth 1."""
        return (_BIAS + _MANTISSA - self.product.bits * field) << _MANTISSA

    def _base(self, field: int, zero: ir.Value) -> ir.Value:
        """Return what the float of `field` is where the integer is the zero point."""
        exponent = emit("arith.bitcast", [self._word(self._exponent(field))], self._floats)
        return emit("arith.addf", [exponent, zero], self._floats)

    @cached_property
    def _words(self) -> ir.Type:
        return ir.VectorType.get([self.told.vector], ir.IntegerType.get_signless(32))

    @cached_property
    def _floats(self) -> ir.Type:
        return ir.VectorType.get([self.told.vector], ir.F32Type.get())

    def _word(self, number: int) -> ir.Value:
        return splat(self._words, number)
