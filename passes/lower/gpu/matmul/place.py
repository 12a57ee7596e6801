# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds the position of a block's tile in the output of a contraction."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops.loop_builder import Position


@dataclass(frozen=True)
class TilePosition:
    """The position of a tile in the output.

    Attributes:
        position: of the batch loops.
        row: the first row, an i32.
        column: the first column, an i32.
        rank: of the block in the cluster that shares the tile, an i32; None where it is alone.
    """

    position: Position
    row: ir.Value
    column: ir.Value
    rank: ir.Value | None = None
