# SPDX-License-Identifier: MIT OR Apache-2.0
"""Addresses of one operand's tiles, in global memory and in shared memory.

A part is `width` rows (or columns) of the output by the steps of one stage. In shared memory it is
*deep*, [width][128 bytes of steps], or, where rows are contiguous in global memory and elements
have 16 bits, *wide*, [steps][width]. Groups of 16 bytes are swizzled within a row, by an exclusive
or with the row's number, so that eight rows of one group lie in different banks.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Self

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.mma.kind import MmaKind
from xyntra.passes.lower.cuda.matmul.mma.tiles import ROW_BYTES
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.emit.thread_grid import i32
from xyntra.passes.lower.gpu.matmul.roles import Roles
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position
from xyntra.passes.lower.loops.memrefs import view_offset

_GROUP = 16  # bytes that keep together
_GROUPS = 8  # that all banks hold
_SMALLEST_COPY = 4  # bytes
_TRANSPOSED_ITEM = 2  # bytes of the elements that ldmatrix transposes
_LIMIT = 1 << 31  # offsets are i32s


@dataclass(frozen=True)
class MmaFactor:
    """One factor of a contraction, and how its parts are copied.

    Attributes:
        nest: the contraction.
        access: the factor.
        batch: loops that are fixed for a tile.
        loops: those that the tile is cut from.
        reductions: the loops of the reduction, outermost first.
        width: the tile's extent along `loops`.
        kind: the instruction.
        windows: dimensions in which it may be read outside of its memory, where zeros are meant.
    """

    nest: LinearNest
    access: BufferOperand
    batch: tuple[int, ...]
    loops: tuple[int, ...]
    reductions: tuple[int, ...]
    width: int
    kind: MmaKind
    windows: tuple[ImagePosition, ...] = ()

    @classmethod
    def both(
        cls,
        nest: LinearNest,
        roles: Roles,
        kind: MmaKind,
        widths: tuple[int, int],
        windows: Mapping[int, tuple[ImagePosition, ...]] | None,
    ) -> tuple[Self, Self] | None:
        """Return the left and the right factor; None where an i32 cannot number their elements.

        Args:
            nest: the contraction.
            roles: which of its loops are batch, M, N and K.
            kind: the instruction.
            widths: rows and columns of a tile.
            windows: for the factors that may be read outside of their memory, by number, in which
                dimensions.
        """
        known = windows or {}
        left, right = (
            cls(
                nest,
                nest.inputs[number],
                roles.batch,
                loops,
                roles.reductions,
                width,
                kind,
                known.get(number, ()),
            )
            for number, loops, width in (
                (roles.left, roles.rows, widths[0]),
                (roles.right, roles.columns, widths[1]),
            )
        )
        return (left, right) if left.fits and right.fits else None

    @property
    def depth(self) -> int:
        """Steps of the reduction in one part."""
        return ROW_BYTES // self.kind.item

    @property
    def start(self) -> int:
        """The element of the memory that the first iteration touches."""
        return self.access.offset + view_offset(self.access.value)

    @property
    def fits(self) -> bool:
        """Tell whether an i32 can number every element."""
        ends = [
            (loop.extent - 1) * step
            for loop, step in zip(self.nest.loops, self.access.strides, strict=True)
        ]
        return all(end >= 0 for end in ends) and self.start + sum(ends) < _LIMIT

    @property
    def runs_deep(self) -> bool:
        """Tell whether neighbouring threads take neighbouring steps, rather than rows."""
        if not self._runs(self.loops):
            return True
        return self._runs(self.reductions) and (
            self._contiguous(self.reductions) >= self._contiguous(self.loops)
        )

    @property
    def is_deep(self) -> bool:
        """Tell whether shared memory holds steps side by side."""
        return self.runs_deep or self.kind.item != _TRANSPOSED_ITEM

    @property
    def lanes(self) -> int:
        """Contiguous elements that a thread takes at once: a piece."""
        if self.runs_deep:
            lanes = self._contiguous(self.reductions)
        else:
            lanes = 1 if self.is_deep else self._contiguous(self.loops)
        return lanes if lanes * self.kind.item >= _SMALLEST_COPY else 1

    @property
    def contiguous(self) -> int:
        """As `lanes`, whatever the tile has room for."""
        return self.lanes

    @property
    def is_copied(self) -> bool:
        """Tell whether copies can bring it, rather than loads and stores of single elements."""
        return self.lanes * self.kind.item >= _SMALLEST_COPY

    @property
    def pieces(self) -> int:
        """Pieces of a part."""
        return self.width * self.depth // self.lanes

    def _runs(self, loops: Sequence[int]) -> bool:
        return bool(loops) and self.access.strides[loops[-1]] == 1

    def _contiguous(self, loops: Sequence[int]) -> int:
        """Return how many contiguous elements along the last of `loops` can be moved at once."""
        if not self._runs(loops):
            return 1
        lanes = _GROUP // self.kind.item
        others = [step for i, step in enumerate(self.access.strides) if i != loops[-1]]
        places = [self.nest.loops[loops[-1]].extent, self.start, *others]
        while any(place % lanes for place in places):
            lanes //= 2
        return lanes

    def position(self, number: ir.Value, loops: Sequence[int]) -> Position:
        """Return the iteration of each of `loops` that together are at `number`; all i32s."""
        found: Position = {}
        for place in reversed(range(len(loops))):
            extent = i32(self.nest.loops[loops[place]].extent)
            found[loops[place]] = integers.remui(number, extent) if place else number
            if place:
                number = integers.divui(number, extent)
        return found

    def distance(self, position: Position) -> ir.Value:
        """Return how many elements `position` moves on from the first one, an i32."""
        total: ir.Value = i32(0)
        for loop, number in position.items():
            total = integers.addi(total, integers.muli(number, i32(self.access.strides[loop])))
        return total

    def piece(self, number: ir.Value, ahead: int) -> tuple[ir.Value, ir.Value]:
        """Return row and step, in the part, of the piece `number` plus `ahead`, all i32s."""
        inner = (self.depth if self.runs_deep else self.width) // self.lanes
        apart = ahead
        if ahead % inner:
            number, apart = integers.addi(number, i32(ahead)), 0
        low = integers.muli(integers.remui(number, i32(inner)), i32(self.lanes))
        # A constant is added last, so that addresses differ by constants as well.
        high = integers.addi(integers.divui(number, i32(inner)), i32(apart // inner))
        return (high, low) if self.runs_deep else (low, high)

    def shared_place(self, row: ir.Value, step: ir.Value) -> ir.Value:
        """Return the byte of a part that holds an element, an i32."""
        item = i32(self.kind.item)
        if self.is_deep:
            return swizzled(row, integers.muli(step, item), ROW_BYTES)
        return swizzled(step, integers.muli(row, item), self.width * self.kind.item)


def swizzled(row: ir.Value, byte: ir.Value, pitch: int) -> ir.Value:
    """Return where `byte` of `row` is, an i32; rows take `pitch` bytes, a power of two."""
    groups = min(pitch // _GROUP, _GROUPS)
    moved = integers.divui(row, i32(_GROUPS // groups))  # so many rows fill all banks
    mask = integers.muli(integers.andi(moved, i32(groups - 1)), i32(_GROUP))
    return integers.addi(integers.muli(row, i32(pitch)), integers.xori(byte, mask))
