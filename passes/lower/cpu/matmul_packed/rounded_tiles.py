# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products of rows of 8 bits with a packed matrix by dot products of integers.

A vector of bytes of the matrix is two vectors of integers, which are multiplied and summed exactly
within a block. The sums become floats, and are multiplied with the scales of both factors.
"""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul_int8.dot_products import DotProduct
from xyntra.passes.lower.cpu.matmul_packed.column_tiles import (
    ColumnTiles,
    RowsOfChunk,
    repeated,
    splat,
)
from xyntra.passes.lower.cpu.matmul_packed.rounded_copy import RoundedCopy
from xyntra.passes.lower.cpu.matmul_packed.rounded_plan import RoundedProduct
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import Position

__all__ = ["RoundedTiles"]

_LOW_BITS, _HALF = 15, 4


@dataclass(frozen=True)
class RoundedTiles(ColumnTiles[RoundedCopy]):
    """The code of a product of integers.

    Attributes:
        dot: multiplies and adds them.
    """

    product: RoundedProduct
    dot: DotProduct

    def copied_rows(self) -> RoundedCopy:
        """Copy the rows to the order of the matrix."""
        return RoundedCopy.made(self.product, self.told.vector, self.dot)

    def add_chunk(
        self, rows: RoundedCopy, place: Position, met: RowsOfChunk, sums: list[ir.Value]
    ) -> list[ir.Value]:
        """Add what the sums of integers over blocks, or parts of one, stand for."""
        width, lanes = self.told.tile[1], self.told.vector
        floats = ir.VectorType.get([lanes], ir.F32Type.get())
        for column in range(width):
            packed = self.load_bytes(place, column, met.first)
            halves = (
                integers.andi(packed, splat(packed.type, _LOW_BITS)),
                emit("arith.shrui", [packed, splat(packed.type, _HALF)], packed.type),
            )
            zero, scale = self.of_blocks(place, column, met.first)
            scale = repeated(scale, lanes)
            for each, row in enumerate(met.rows):
                total = rows.start(row, met.chunk)
                if self.product.known_zero is None:
                    total = integers.muli(total, repeated(zero, lanes))
                for number, half in enumerate(halves):
                    total = self.dot.accumulate(total, half, rows.half(row, met.chunk, number))
                value = emit("arith.sitofp", [total], floats)
                factor = self.multiply(scale, rows.scale(row, met.chunk))
                at = each * width + column
                sums[at] = self.add(sums[at], self.multiply(value, factor))
        return sums
