# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tiles of rows on their way from global to shared memory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import start_address, store_shared
from xyntra.passes.lower.cuda.attention.plan import FlashPlan
from xyntra.passes.lower.cuda.ptx.copies import cp_async
from xyntra.passes.lower.cuda.ptx.memory import ld_global
from xyntra.passes.lower.gpu.attention.problem import Located, Outer, Problem
from xyntra.passes.lower.gpu.attention.values import Registers, loop, number, when

_UNROLLED = 8  # copies of a thread
_SMALLEST = 4  # bytes that can be copied without passing through registers


@dataclass(frozen=True)
class RowStaging:
    """Copies `rows` rows at a time, with zeros where the operand has none.

    Attributes:
        operand: what is read.
        outer: the batch and the head.
        rows: of one tile.
        limit: rows of the operand.
        size: elements of a row of the operand.
        row_bytes: bytes of a row in shared memory, a multiple of 16.
        pitch: bytes from row to row there.
        thread: the number of the thread, uint32.
        threads: how many there are.
        lines: see `l2_line` of `cp_async`.
    """

    operand: Located
    outer: Outer
    rows: int
    limit: int
    size: int
    row_bytes: int
    pitch: int
    thread: Scalar
    threads: int
    lines: bool = False

    @classmethod
    def of(
        cls,
        problem: Problem,
        plan: FlashPlan,
        operand: Located,
        outer: Outer,
        rows: int,
        thread: Scalar,
        threads: int,
        *,
        lines: bool = False,
    ) -> Self:
        """Copies of queries, keys or values, laid out in shared memory as `plan` says."""
        _, _, s, t, d, e = problem.sizes
        limit = s if operand is problem.query else t
        if operand is problem.value:
            layout = e, plan.value_bytes, plan.value_pitch
        else:
            layout = d, plan.key_bytes, plan.key_pitch
        return cls(operand, outer, rows, limit, *layout, thread, threads, lines=lines)

    def begin(self, target: Scalar, first: Scalar) -> None:
        """Begin to copy a tile.

        Args:
            target: where it goes in shared memory.
            first: its first row, an int32 that is not negative.
        """
        chunks = self.row_bytes // self.operand.access_bytes
        base = start_address(self.operand, self.outer)
        whole, rest = divmod(self.rows * chunks, self.threads)

        def copy(flat: Scalar) -> None:
            self._copy(base, target, first, flat / chunks, flat % chunks)

        def several(place: Scalar, _: Registers) -> Registers:
            start = self.thread + place.cast("uint32") * (_UNROLLED * self.threads)
            for turn in range(_UNROLLED):
                copy(start + turn * self.threads)
            return []

        turns = whole // _UNROLLED if whole > _UNROLLED else 0
        if turns:  # the addresses of all copies would fill the registers
            loop(number(turns), [], several)
        for turn in range(turns * _UNROLLED, whole):
            row, chunk = self._place(turn * self.threads, chunks)
            self._copy(base, target, first, row, chunk)
        if rest:
            with when(self.thread < rest):
                copy(self.thread + whole * self.threads)

    def _place(self, start: int, chunks: int) -> tuple[Scalar, Scalar]:
        """The row and chunk of the thread's copy, where the first thread does number `start`."""
        if start % chunks == 0:
            return self.thread / chunks + start // chunks, self.thread % chunks
        flat = self.thread + start
        return flat / chunks, flat % chunks

    def _copy(
        self, base: Scalar, target: Scalar, first: Scalar, row: Scalar, chunk: Scalar
    ) -> None:
        step, item = self.operand.access_bytes, self.operand.item_bytes
        down, along = self.operand.strides
        column, place = chunk * (step // item), first.cast("uint32") + row
        valid = self._valid(place, column)
        moved = place.cast("uint64") * (down * item) + column.cast("uint64") * (along * item)
        source = base + (moved if valid is None else valid.differs(0).select(moved, 0))
        goal = target + row * self.pitch + chunk * step
        if step >= _SMALLEST:
            present = None if valid is None else valid.value
            cp_async(goal.value, source.value, step, present, l2_line=self.lines)
        else:
            self._copy_one(goal, source, valid)

    def _valid(self, row: Scalar, column: Scalar) -> Scalar | None:
        """Bytes of a copy that the operand has, uint32; None for all of them."""
        step, item = self.operand.access_bytes, self.operand.item_bytes
        count, used = step // item, number(step, "uint32")
        has_all_rows, is_full = self.limit % self.rows == 0, self.size * item == self.row_bytes
        if has_all_rows and is_full:
            return None
        if not is_full and self.size % count == 0:
            used = (column < self.size).select(used, 0)
        elif not is_full:
            left = (column < self.size).select(number(self.size, "uint32") - column, 0)
            used = (left < count).select(left, count) * item
        return used if has_all_rows else (row < self.limit).select(used, 0)

    def _copy_one(self, goal: Scalar, source: Scalar, valid: Scalar | None) -> None:
        """Copy one 16-bit element."""
        value = Scalar(ld_global(source.value, 16), "uint16")
        store_shared(goal, [value if valid is None else valid.differs(0).select(value, 0)])
