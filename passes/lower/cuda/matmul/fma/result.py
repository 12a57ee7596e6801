# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes the accumulators of a tile in f32, as those of tensor cores are written."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.matmul.fma.tiles import VECTOR, FmaTile
from xyntra.passes.lower.cuda.matmul.mma.result import MmaResult
from xyntra.passes.lower.cuda.ptx.memory import st_shared
from xyntra.passes.lower.gpu.emit.thread_grid import i32

_WORD = 4  # bytes of a sum


@dataclass(frozen=True)
class FmaResult(MmaResult):
    """Writer of the results of a contraction in f32.

    Attributes:
        own: how threads share a tile.
    """

    own: FmaTile

    def exchange(self, corner: tuple[ir.Value, ir.Value], accumulators: Sequence[ir.Value]) -> None:
        """Write the thread's accumulators, row by row, to shared memory.

        Args:
            corner: the thread's first row and column of the tile.
            accumulators: of its rows and columns, fours of which lie apart by those of all lanes.
        """
        own = self.own
        first = self.address(*corner)
        kind = ir.VectorType.get([VECTOR], accumulators[0].type)
        for row in range(own.own_rows):
            down = row // VECTOR * own.lane_rows * VECTOR + row % VECTOR
            for group in range(own.own_columns // VECTOR):
                start = row * own.own_columns + group * VECTOR
                ahead = down * self.tile.pitch + group * own.lane_columns * VECTOR
                value = emit(
                    "vector.from_elements", list(accumulators[start : start + VECTOR]), kind
                )
                st_shared(arith.addi(first, i32(ahead * _WORD)), value)
