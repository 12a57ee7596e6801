# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a warp multiplies from shared memory: one `ldmatrix` for 16 rows and 32 bytes.

Of the four matrices that it loads, the first two are the two halves of the rows of a left factor,
and the two halves of the bytes of a right one: `mma` wants them in these orders (PTX ISA, "Matrix
fragments for mma.m16n8k16").
"""

from __future__ import annotations

from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.mma.factor import MmaFactor
from xyntra.passes.lower.cuda.matmul.mma.kind import STEP_BYTES
from xyntra.passes.lower.cuda.ptx.matrices import ldmatrix
from xyntra.passes.lower.cuda.ptx.numbers import cvt_tf32
from xyntra.passes.lower.gpu.emit.thread_grid import i32, thread_number
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.block_memo import BlockMemo

_ROWS = 16  # of one load
_HALF = 8
_GROUP = 16  # bytes
_LANE_BITS = (7, 8, 16)  # of a lane's number: the row, and two that choose the matrix


@dataclass(frozen=True)
class MmaFragments:
    """The rows (or columns) of a factor that one warp multiplies.

    Attributes:
        factor: the factor.
        is_left: whether it is the left one.
        first: the warp's first row in the tile, an i32, a multiple of 16.
        count: loads of 16 rows.
    """

    factor: MmaFactor
    is_left: bool
    first: ir.Value
    count: int
    _memo: BlockMemo = field(default_factory=BlockMemo, repr=False, compare=False)

    def read(self, part: ir.Value, number: int) -> list[list[ir.Value]]:
        """Return the fragments for the 32 bytes `number` of the part at a shared address, an i32.

        Returns:
            For a left factor four i32s for each 16 rows, for a right one two for each 8 columns.
        """
        found: list[list[ir.Value]] = []
        for piece in range(self.count):
            address = integers.addi(part, self._place(piece, number))
            words = ldmatrix(address, transposed=not self.factor.is_deep)
            if self.factor.kind.left == "tf32":
                words = [cvt_tf32(word) for word in words]
            found += [words] if self.is_left else [words[:2], words[2:]]
        return found

    def _place(self, piece: int, number: int) -> ir.Value:
        """Return the byte of the part whose row this thread names."""
        row, half_rows, half_bytes = self._memo.once("lane", self._lane)
        first = self._memo.once(piece, lambda: integers.addi(self.first, i32(piece * _ROWS)))
        item = self.factor.kind.item
        if self.factor.is_deep:
            wide = integers.addi(first, integers.addi(row, integers.muli(half_rows, i32(_HALF))))
            byte = integers.addi(integers.muli(half_bytes, i32(_GROUP)), i32(number * STEP_BYTES))
            return self.factor.shared_place(wide, integers.divui(byte, i32(item)))
        wide = integers.addi(first, integers.muli(half_rows, i32(_HALF)))
        deep = integers.addi(row, integers.muli(half_bytes, i32(_HALF)))
        return self.factor.shared_place(wide, integers.addi(deep, i32(number * STEP_BYTES // item)))

    def _lane(self) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Return the row of eight, and the halves of the rows and bytes, that this thread names."""
        row, low, high = (integers.andi(thread_number(), i32(bit)) for bit in _LANE_BITS)
        low = integers.divui(low, i32(_LANE_BITS[1]))
        high = integers.divui(high, i32(_LANE_BITS[2]))
        return (row, low, high) if self.is_left else (row, high, low)
