# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values of a tile's rows in shared memory, computed while factors are on their way."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.ptx.memory import ld_shared, st_shared
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.contraction.row_values import WORD, Lanes, RowValueLoops
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, thread_number, when

_MOST_LANES = 8  # threads of a row


@dataclass(frozen=True)
class RowTable:
    """The values of some neighbouring rows in shared memory.

    Attributes:
        values: what is kept.
        start: address of the table, an i32.
        rows: of the table.
    """

    values: RowValueLoops
    start: ir.Value
    rows: int

    def fill(self, first: ir.Value, begin: ir.Value, count: int, threads: int) -> None:
        """Compute some rows of the table; rows outside of the output hold the last one's values.

        Args:
            first: row of the output that the table begins with, an i32.
            begin: the first row of the table to compute, an i32.
            count: how many there are.
            threads: a power of two, threads that share the work, the first one's number a multiple.
        """
        thread = arith.andi(thread_number(), i32(threads - 1))
        shared = min(threads // count, _MOST_LANES) if threads % count == 0 else 1
        lanes = Lanes(arith.andi(thread, i32(shared - 1)), shared, WARP)
        thread = arith.divui(thread, i32(lanes.count))
        for taken in range(0, count, threads // lanes.count):
            own = arith.addi(thread, i32(taken))
            number = arith.addi(begin, own)
            if taken + threads // lanes.count <= count:
                self._fill_row(first, number, lanes)
                continue
            with when(arith.cmpi(arith.CmpIPredicate.ult, own, i32(count))):
                self._fill_row(first, number, lanes)

    def _fill_row(self, first: ir.Value, number: ir.Value, lanes: Lanes) -> None:
        row = as_index(arith.minui(arith.addi(first, number), i32(self.values.rows - 1)))
        values = self.values.of_row(row, lanes)
        leads = arith.cmpi(arith.CmpIPredicate.eq, lanes.number, i32(0))
        with when(leads) if lanes.count > 1 else nullcontext():
            for slot, value in enumerate(values):
                st_shared(self._place(slot, number), value)
            self.values.write_results(row, values)

    def load(self, slot: int, number: ir.Value) -> ir.Value:
        """Return a value of row `number` of the table, an i32."""
        return ld_shared(self._place(slot, number), ir.F32Type.get())

    def _place(self, slot: int, number: ir.Value) -> ir.Value:
        word = arith.addi(number, i32(slot * self.rows))
        return arith.addi(self.start, arith.muli(word, i32(WORD)))
