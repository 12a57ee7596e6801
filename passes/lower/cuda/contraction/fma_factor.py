# SPDX-License-Identifier: MIT OR Apache-2.0
"""Where parts of one factor of f32 lie in shared memory, and which thread copies which piece.

In shared memory a part is [steps][rows, or columns], whatever its order in the factor: a thread
then reads neighbouring rows of one step at once. Where neighbours in global memory are steps, 32
threads copy eight steps of four rows; the padding behind every step lets them write to different
banks.
"""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.contraction.fma_tiles import DEPTH, VECTOR
from xyntra.passes.lower.cuda.contraction.mma_factor import MmaFactor
from xyntra.passes.lower.cuda.thread_grid import i32, thread_number

_DEEP = 8  # neighbouring steps that neighbouring threads copy


@dataclass(frozen=True)
class Pieces:
    """What one thread copies of a part.

    Attributes:
        row: the row of its first piece, an i32.
        step: the step of its first piece, an i32.
        ahead: rows and steps from there to each of its pieces.
        count: pieces of all threads.
    """

    row: ir.Value
    step: ir.Value
    ahead: tuple[tuple[int, int], ...]
    count: int


class FmaFactor(MmaFactor):
    """One factor of a contraction in f32, and how its parts are copied."""

    @property
    def depth(self) -> int:
        """Steps of the reduction in one part."""
        return DEPTH

    @property
    def is_deep(self) -> bool:
        """Shared memory holds rows side by side."""
        return False

    @property
    def lanes(self) -> int:
        """Neighbours in memory that a thread copies at once: a piece."""
        is_wide = not self.runs_deep and self._neighbours(self.loops) == VECTOR
        return VECTOR if is_wide else 1

    @property
    def is_blocked(self) -> bool:
        """Whether all steps of a part are neighbours along the last loop of the reduction."""
        extent = self.nest.loops[self.reductions[-1]].extent
        return len(self.reductions) == 1 or extent % DEPTH == 0

    @property
    def lead(self) -> int:
        """Steps in front of the first one that make the first part a whole one."""
        limit = 1
        for number in self.reductions:
            limit *= self.nest.loops[number].extent
        return -limit % DEPTH if self.is_blocked else 0

    def pieces_of(self, threads: int) -> Pieces:
        """Return what the current thread of a block of `threads`, a power of two, copies."""
        deep = _DEEP if self.runs_deep else 1
        across = self.width // self.lanes
        thread = thread_number()
        number, step = _part(thread, deep), _rest(thread, deep)
        if threads > deep * across:
            step = arith.addi(step, arith.muli(_part(number, across), i32(deep)))
            number = _rest(number, across)
        count = across * DEPTH
        ahead = []
        for first in range(0, count, threads):
            down = first // deep
            ahead.append((down % across * self.lanes, down // across * deep))
        return Pieces(arith.muli(number, i32(self.lanes)), step, tuple(ahead), count)


def _rest(number: ir.Value, size: int) -> ir.Value:
    return arith.andi(number, i32(size - 1))


def _part(number: ir.Value, size: int) -> ir.Value:
    return arith.shrui(number, i32(size.bit_length() - 1))
