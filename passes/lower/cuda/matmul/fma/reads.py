# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a thread multiplies of a factor of f32 from shared memory, 16 bytes at once.

Where steps lie side by side there, a load is of four steps of one row: it is made as soon as the
four before it have been multiplied, so that it takes their registers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.fma.factor import ROW_BYTES, FmaFactor
from xyntra.passes.lower.cuda.matmul.fma.tiles import VECTOR, pitch
from xyntra.passes.lower.cuda.ptx.memory import ld_shared
from xyntra.passes.lower.gpu.emit.thread_grid import i32
from xyntra.passes.lower.loops.vector_body import lane_of

_ITEM = 4  # bytes
_QUAD = VECTOR * _ITEM  # bytes


@dataclass(frozen=True)
class FmaReads:
    """A thread's reads of one factor in shared memory.

    Attributes:
        factor: the factor.
        first: the thread's first row of the tile, an i32, a multiple of four.
        behind: bytes from the start of a stage to the factor's part.
        count: rows of the thread: fours that lie apart by those of all lanes.
        lanes: threads of a warp that have rows side by side.
    """

    factor: FmaFactor
    first: ir.Value
    behind: int
    count: int
    lanes: int

    @property
    def groups(self) -> range:
        """The first rows of each four."""
        return range(0, self.count, VECTOR)

    def first_values(self, stage: ir.Value) -> list[ir.Value]:
        """Load what is multiplied first, from the stage at an address, an i32."""
        if not self.factor.is_deep:
            return self.step(stage, 0)
        return [each for group in self.groups for each in self.quad(stage, 0, group)]

    def step(self, stage: ir.Value, step: int) -> list[ir.Value]:
        """Load a step of rows that lie side by side."""
        base = arith.addi(stage, arith.muli(self.first, i32(_ITEM)))
        values: list[ir.Value] = []
        for group in self.groups:
            ahead = step * pitch(self.factor.width) + group * self.lanes
            address = arith.addi(base, i32(self.behind + _ITEM * ahead))
            values += _lanes(ld_shared(address, ir.VectorType.get([VECTOR], ir.F32Type.get())))
        return values

    def quad(self, stage: ir.Value, step: int, group: int) -> list[ir.Value]:
        """Load four steps from `step` on, where they lie side by side, of the rows of a group."""
        start = arith.addi(stage, arith.addi(i32(self.behind), self.factor.place(self.first)))
        vectors = []
        for row in range(VECTOR):
            # Bits that change places are combined, what is above them is added.
            low = row * ROW_BYTES % self.factor.swizzled_bytes + step * _ITEM
            high = row * ROW_BYTES // self.factor.swizzled_bytes * self.factor.swizzled_bytes
            moved = arith.xori(start, i32(low)) if low else start
            address = arith.addi(moved, i32(high + group * self.lanes * ROW_BYTES))
            vectors.append(ld_shared(address, ir.VectorType.get([VECTOR], ir.F32Type.get())))
        return vectors

    def values(self, held: Sequence[ir.Value], step: int) -> list[ir.Value]:
        """Return the rows' values in a step: `held` is from `step`, or from `quad`s."""
        if not self.factor.is_deep:
            return list(held)
        return [lane_of(vector, step % VECTOR) for vector in held]


def _lanes(vector: ir.Value) -> list[ir.Value]:
    return [lane_of(vector, number) for number in range(VECTOR)]
