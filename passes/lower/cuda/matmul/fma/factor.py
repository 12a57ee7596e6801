# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies parts of an f32 operand to shared memory, and lays them out without bank conflicts.

In shared memory a part is *wide*, [steps][rows, or columns], and a thread reads neighbouring rows
of one step at once; or, where four contiguous elements in global memory are steps, it may be
*deep*, [rows, or columns][steps], and a thread reads four steps of a row at once. Then groups of 16
bytes are swizzled, by an exclusive or with the row's number, so that those that the threads of a
warp read together lie in different banks. Where contiguous elements are steps in a wide part, 32
threads copy single elements, eight steps of four rows; padding behind every step lets them write to
different banks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.fma.tiles import DEPTH, VECTOR, pitch
from xyntra.passes.lower.cuda.matmul.mma.factor import MmaFactor
from xyntra.passes.lower.gpu.emit.thread_grid import i32, thread_number
from xyntra.passes.lower.gpu.matmul.roles import size

ROW_BYTES = 4 * DEPTH
"""Bytes of a row of a deep part."""
_DEEP = 8  # neighbouring steps that neighbouring threads copy one by one
_QUAD = 16  # bytes
_BANKS = 128  # bytes that all banks hold side by side
_ITEM = 4  # bytes


@dataclass(frozen=True)
class Pieces:
    """The pieces of a part that one thread copies.

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


@dataclass(frozen=True)
class FmaFactor(MmaFactor):
    """One factor of a contraction in f32, and how its parts are copied.

    Attributes:
        readers: threads of a warp that read fours of rows side by side in a deep part, a power of
            two; 0 where parts must be wide.
    """

    readers: int = 0

    @property
    def depth(self) -> int:
        """Steps of the reduction in one part."""
        return DEPTH

    @property
    def is_deep(self) -> bool:
        """Tell whether shared memory holds steps side by side."""
        return self.readers > 0 and self.has_quads

    def deep(self, readers: int) -> FmaFactor:
        """Return the factor with deep parts where it can have them."""
        return replace(self, readers=readers) if self.has_quads else self

    @property
    def has_quads(self) -> bool:
        """Whether fours of steps are contiguous in memory, and none or all of them are inside."""
        inner = self.reductions[-1]
        is_cut = any(loop == inner for window in self.windows for loop, _ in window.steps)
        return self.runs_deep and not is_cut and self._contiguous(self.reductions) == VECTOR

    @property
    def lanes(self) -> int:
        """Contiguous elements that a thread copies at once: a piece."""
        is_wide = not self.runs_deep and self._contiguous(self.loops) == VECTOR
        return VECTOR if is_wide or self.is_deep else 1

    def _contiguous(self, loops: Sequence[int]) -> int:
        """Return as for any factor, also where vectors end behind the rows of longer ones."""
        return VECTOR if loops == self.loops and self._ends_early else super()._contiguous(loops)

    @property
    def _ends_early(self) -> bool:
        """Tell whether vectors that begin in a row of memory end in it, if behind what is read.

        What they bring of that belongs to rows, or columns, that the output does not have.
        """
        if len(self.loops) != 1 or self.windows or not self._runs(self.loops):
            return False
        others = [step for i, step in enumerate(self.access.strides) if i != self.loops[0] and step]
        if not others or any(step % min(others) for step in others) or min(others) % VECTOR:
            return False
        end = self.start % min(others) + self._whole_vectors
        return not self.start % VECTOR and end <= min(others)

    @property
    def _whole_vectors(self) -> int:
        """Rows, or columns, with those that the last vector has."""
        return -(-self.nest.loops[self.loops[0]].extent // VECTOR) * VECTOR

    @property
    def last(self) -> int:
        """The row, or column, at which the last piece begins."""
        if self.is_deep or self.lanes == 1:
            return size(self.nest, self.loops) - 1
        return -(-size(self.nest, self.loops) // self.lanes) * self.lanes - self.lanes

    @property
    def is_blocked(self) -> bool:
        """Tell whether all steps of a part are contiguous along the last loop of the reduction."""
        extent = self.nest.loops[self.reductions[-1]].extent
        return len(self.reductions) == 1 or extent % DEPTH == 0

    @property
    def lead(self) -> int:
        """Steps in front of the first one that make the first part a whole one."""
        limit = 1
        for number in self.reductions:
            limit *= self.nest.loops[number].extent
        return -limit % DEPTH if self.is_blocked else 0

    @property
    def contiguous(self) -> int:
        """As `lanes`, whatever the tile has room for."""
        return VECTOR if self.has_quads else self.lanes

    def pieces_of(self, threads: int) -> Pieces:
        """Return what the current thread of a block of `threads`, a power of two, copies."""
        if self.is_deep:
            return self._quads_of(threads)
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

    def _quads_of(self, threads: int) -> Pieces:
        each = DEPTH // VECTOR
        count = self.width * each
        ahead = tuple((first // each, 0) for first in range(0, count, threads))
        step = arith.muli(_rest(thread_number(), each), i32(VECTOR))
        return Pieces(_part(thread_number(), each), step, ahead, count)

    @property
    def swizzled_bytes(self) -> int:
        """Bytes after which the pattern of a deep part begins anew within rows."""
        return ROW_BYTES if self._moved_rows <= DEPTH // VECTOR else _BANKS

    @property
    def period(self) -> int:
        """Rows after which the pattern of a deep part begins anew."""
        return VECTOR * self._moved_rows

    @property
    def _moved_rows(self) -> int:
        return min(self.readers, _BANKS // _QUAD)

    def place(self, row: ir.Value, step: ir.Value | None = None) -> ir.Value:
        """Return the byte of a part that has an element, an i32; `step` is 0 where left out."""
        if not self.is_deep:
            number = row if step is None else arith.addi(arith.muli(step, i32(self._pitch)), row)
            return arith.muli(number, i32(_ITEM))
        byte = arith.muli(row, i32(ROW_BYTES))
        if step is not None:
            byte = arith.addi(byte, arith.muli(step, i32(_ITEM)))
        moved = _rest(_part(row, VECTOR), self._moved_rows)
        return arith.xori(byte, arith.muli(moved, i32(_QUAD)))

    @property
    def _pitch(self) -> int:
        return pitch(self.width)

    def bytes_ahead(self, row: int, step: int) -> int:
        """Return how far apart pieces lie; in deep parts rows are multiples of `period`."""
        return row * ROW_BYTES if self.is_deep else (step * self._pitch + row) * _ITEM


def _rest(number: ir.Value, size: int) -> ir.Value:
    return arith.andi(number, i32(size - 1))


def _part(number: ir.Value, size: int) -> ir.Value:
    return arith.shrui(number, i32(size.bit_length() - 1))
