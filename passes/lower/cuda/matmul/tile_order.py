# SPDX-License-Identifier: MIT OR Apache-2.0
"""In which order persistent blocks take the tiles of a matrix product."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul
from xyntra.passes.lower.gpu.emit.thread_grid import delinearize, i32
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.roles import extents
from xyntra.passes.lower.loops.loop_builder import Position


@dataclass(frozen=True)
class TileOrder:
    """In which order blocks take tiles.

    Attributes:
        product: what is computed.
        tile: how it is cut.
        parts: of which a tile has as many, side by side, for equal columns of the output.
    """

    product: BatchedMatmul
    tile: Tile
    parts: int = 1

    @property
    def columns(self) -> int:
        """Columns of the output that a tile has."""
        return self.tile.columns // self.parts

    @property
    def down(self) -> int:
        """Tiles along the rows."""
        return -(-self.product.size(self.product.rows) // self.tile.rows)

    @property
    def across(self) -> int:
        """Tiles along the columns."""
        return -(-self.product.size(self.product.columns) // self.columns)

    @property
    def count(self) -> int:
        """Tiles in all."""
        return self.down * self.across * self.product.size(self.product.batch)

    def place(self, number: ir.Value) -> TilePosition:
        """Return where the tile `number`, an i32, lies.

        Tiles that are near in this order use the same columns, or rows that are near, so that L2
        still has them.
        """
        each = self.down * self.across
        batch: Position = {}
        if self.product.batch:
            outer = arith.divui(number, i32(each))
            batch = delinearize(outer, extents(self.product.nest, self.product.batch))
            number = arith.remui(number, i32(each))
        is_group = always_at_most(self.down, self.tile.group)
        height: ir.Value = i32(self.down if is_group else self.tile.group)
        first: ir.Value = i32(0)
        if not is_group:
            step = i32(self.across * self.tile.group)
            first = arith.muli(arith.divui(number, step), i32(self.tile.group))
            number = arith.remui(number, step)
            height = arith.minui(arith.subi(i32(self.down), first), height)
        row = arith.addi(first, arith.remui(number, height))
        column = arith.divui(number, height)
        rows, columns = i32(self.tile.rows), i32(self.columns)
        return TilePosition(batch, arith.muli(row, rows), arith.muli(column, columns))
