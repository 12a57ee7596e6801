# SPDX-License-Identifier: MIT OR Apache-2.0
"""Brings parts of one factor into shared memory."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import reduce

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.matmul.mma.factor import MmaFactor
from xyntra.passes.lower.cuda.ptx.copies import cp_async
from xyntra.passes.lower.cuda.ptx.memory import global_address, st_shared
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, is_below, thread_number, when
from xyntra.passes.lower.gpu.matmul.roles import size
from xyntra.passes.lower.kernels.prepared_operands import is_constant
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.block_memo import BlockMemo
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import Position, load
from xyntra.passes.lower.loops.memrefs import view_offset

_BATCH = 8  # loads of a thread that are under way at once, where they are no copies


@dataclass(frozen=True)
class MmaCopies:
    """Copies parts of a factor for one tile.

    Attributes:
        factor: the factor.
        threads: of the block.
        batch: position of the batch loops, i32s.
        first: the tile's first row or column, an i32.
        limit: steps of the whole reduction; zeros stand for those behind it.
    """

    factor: MmaFactor
    threads: int
    batch: Position
    first: ir.Value
    limit: int
    _memo: BlockMemo = field(default_factory=BlockMemo, repr=False, compare=False)

    @classmethod
    def of(cls, factor: MmaFactor, threads: int, batch: ir.Value, first: ir.Value) -> MmaCopies:
        """Return what copies for one tile.

        Args:
            factor: the factor.
            threads: of the block.
            batch: number of the output, an i32.
            first: the tile's first row or column, an i32.
        """
        position = factor.position(batch, factor.batch)
        return cls(factor, threads, position, first, size(factor.nest, factor.reductions))

    @property
    def is_early(self) -> bool:
        """Tell whether it may begin before the launch ahead of this one has ended."""
        return self.factor.is_copied and is_constant(self.factor.access)

    def copy(self, target: ir.Value, step: ir.Value) -> None:
        """Begin to bring the part whose first step is `step` to the shared address `target`.

        Both are i32s.
        """
        factor = self.factor
        base = global_address(factor.access.value)
        nbytes = factor.lanes * factor.kind.item
        for ahead in range(0, factor.pieces, self.threads):
            with self._present(ahead):
                place, offset, inside = self._piece(thread_number(), ahead, step, self._memo)
                present = None
                if inside is not None:
                    present = integers.select(inside, i32(nbytes), i32(0))
                source = integers.addi(base, _bytes(offset, factor.kind.item))
                cp_async(integers.addi(target, place), source, nbytes, present)

    def move(self, target: ir.Value, step: ir.Value) -> None:
        """As `copy`, by loads and stores, for what copies cannot bring."""
        pieces = self.factor.pieces
        each = min(self.threads * _BATCH, pieces)
        loop = scf.ForOp(i32(0), i32(pieces), i32(each), [])
        with ir.InsertionPoint(loop.body):
            number = integers.addi(thread_number(), loop.induction_variable)
            found = []
            for ahead in range(0, each, self.threads):
                place, offset, inside = self._piece(number, ahead, step, BlockMemo())
                found.append((integers.addi(target, place), self._load(offset, inside)))
            for address, value in found:
                st_shared(address, value)
            scf.YieldOp([])

    @contextmanager
    def _present(self, ahead: int) -> Iterator[None]:
        """Emit what follows for the threads that have a piece `ahead`."""
        left = self.factor.pieces - ahead
        if left >= self.threads:
            yield
            return
        with when(is_below(thread_number(), left)):
            yield

    def _piece(
        self, number: ir.Value, ahead: int, step: ir.Value, memo: BlockMemo
    ) -> tuple[ir.Value, ir.Value, ir.Value | None]:
        """Return a piece's place in shared memory, its element, and whether it is inside.

        What does not depend on `step` comes from `memo`, where it has it.
        """
        factor = self.factor
        row, deep, place = memo.once(("place", ahead), lambda: self._place(number, ahead))
        deep = integers.addi(step, deep)
        position = memo.once(("row", ahead), lambda: factor.position(row, factor.loops))
        position = self.batch | position | factor.position(deep, factor.reductions)
        conditions = [_in_window(window, position) for window in factor.windows]
        extent = size(factor.nest, factor.loops)
        if extent % factor.width:
            conditions.append(is_below(row, extent))
        if self.limit % factor.depth:
            conditions.append(is_below(deep, self.limit))
        inside = reduce(arith.andi, conditions) if conditions else None
        return place, integers.addi(i32(factor.start), factor.distance(position)), inside

    def _place(self, number: ir.Value, ahead: int) -> tuple[ir.Value, ir.Value, ir.Value]:
        """Return a piece's row, its step in the part, and its place in shared memory."""
        row, deep = self.factor.piece(number, ahead)
        place = self.factor.shared_place(row, deep)
        return integers.addi(self.first, row), deep, place

    def _load(self, offset: ir.Value, inside: ir.Value | None) -> ir.Value:
        """Return an element as an integer; zero where it is not inside."""
        access = self.factor.access
        if inside is not None:
            first = i32(view_offset(access.value))  # there is always one
            offset = integers.select(inside, offset, first)
        place = as_index(integers.subi(offset, i32(view_offset(access.value))))
        value = load(BufferOperand(access.value, 0, access.strides), place)
        bits = ir.IntegerType.get_signless(8 * self.factor.kind.item)
        word = value if value.type == bits else emit("arith.bitcast", [value], bits)
        if inside is None:
            return word
        zero = emit("arith.constant", [], bits, value=ir.IntegerAttr.get(bits, 0))
        return integers.select(inside, word, zero)


def _bytes(offset: ir.Value, item: int) -> ir.Value:
    kind = ir.IntegerType.get_signless(64)
    wide = integers.extui(kind, offset)
    return integers.muli(
        wide, emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, item))
    )


def _in_window(window: ImagePosition, position: Position) -> ir.Value:
    """Tell whether `position` is inside of the memory in one dimension."""
    place: ir.Value = i32(window.first)
    for loop, step in window.steps:
        place = integers.addi(place, integers.muli(position[loop], i32(step)))
    return is_below(place, window.size)  # as unsigned numbers, negative ones are large
