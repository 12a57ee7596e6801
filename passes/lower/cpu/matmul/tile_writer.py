# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings finished tiles to memory, on the way through what the kernel does to each element."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_epilogue import TileEpilogue
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import Position, index, loop
from xyntra.passes.lower.loops.memrefs import allocate

_MAX_CLONED = 160  # operations that the copies of an epilogue's body may amount to
_STRIP_BYTES = 16 << 10  # half of a usual first-level cache


@dataclass(frozen=True)
class RegisterTile:
    """The position of a tile.

    Attributes:
        position: where the loops stand, that of the rows at the tile's first row.
        column: the first column.
        strip: the tile's first row in the strip; may be negative, not below minus its rows.
    """

    position: Position
    column: ir.Value
    strip: ir.Value


@dataclass(frozen=True)
class TileWriter:
    """Applies an epilogue to tiles and stores what comes out.

    A short epilogue is repeated for every register of a tile. A long one is a loop over rows, for
    which the tiles below each other wait in a strip of memory; so is one that works in place, since
    tiles overlap at the edge and rows of a strip do not.

    Attributes:
        epilogue: what happens to the values.
        strip: memory for the tiles of a strip and one more before them; None for short epilogues.
        tiles: how many tiles make a strip.
    """

    epilogue: TileEpilogue
    strip: ir.Value | None
    tiles: int

    @classmethod
    def create(
        cls, epilogue: TileEpilogue, tiles: int, element: ir.Type, item_bytes: int
    ) -> TileWriter:
        """Allocate what is needed at the insertion point.

        Args:
            epilogue: what happens to the values.
            tiles: how many tiles there are below each other.
            element: the type of the values.
            item_bytes: the size of one.
        """
        plan = epilogue.plan
        is_short = epilogue.size * plan.rows * plan.vectors <= _MAX_CLONED
        if epilogue.code is None or (is_short and not epilogue.code.is_in_place):
            return cls(epilogue, None, tiles)
        size = plan.rows * plan.columns
        tiles = max(1, min(tiles, _STRIP_BYTES // (size * item_bytes)))
        return cls(epilogue, allocate(size * (tiles + 1), element), tiles)

    def write(self, tile: RegisterTile, values: Sequence[ir.Value]) -> None:
        """Take a tile, given as its registers row by row."""
        plan = self.epilogue.plan
        if self.strip is None:
            put = self.epilogue.at(tile.position, tile.column)
            for number, value in enumerate(values):
                put(value, *divmod(number, plan.vectors))
            return
        first = integers.addi(tile.strip, index(plan.rows))
        start = integers.muli(first, index(plan.columns))
        for number, value in enumerate(values):
            place = integers.addi(start, index(number * plan.lanes))
            ir.Operation.create("vector.store", operands=[value, self.strip, place])

    def finish(self, position: Position, column: ir.Value, rows: ir.Value) -> None:
        """Write the first `rows` rows of the strip, the first being that of `position`."""
        if self.strip is None:
            return
        plan = self.epilogue.plan
        kind = ir.VectorType.get([plan.lanes], ir.MemRefType(self.strip.type).element_type)
        put = self.epilogue.at(position, column)
        with loop(rows) as row:
            start = integers.muli(integers.addi(row, index(plan.rows)), index(plan.columns))
            for vector in range(plan.vectors):
                place = integers.addi(start, index(vector * plan.lanes))
                put(emit("vector.load", [self.strip, place], kind), row, vector)
