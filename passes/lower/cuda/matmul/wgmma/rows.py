# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of a tile's results from shared memory to where TMA cannot write: at any element.

A warp writes one row after the other, and its lanes contiguous elements, so that a store covers
few sectors of 32 bytes. Threads that wrote the elements of their own fragments would touch eight
sectors with every store, for eight bytes each.
"""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.wgmma.fragment import Fragment
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import SWIZZLE
from xyntra.passes.lower.cuda.ptx.memory import ld_shared
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.emit.thread_grid import as_index, i32, when
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import plus, store

_WARP_ROWS = 16
_CHUNK = 16  # bytes that are permuted in shared memory
_PATTERN = 8  # rows after which the permutation repeats


def write_rows(
    fragment: Fragment, access: BufferOperand, row: ir.Value, column: ir.Value, source: ir.Value
) -> None:
    """Write 64 rows of 128 bytes, each warp of a warpgroup sixteen.

    Args:
        fragment: of this thread.
        access: the output, whose columns are contiguous.
        row: the first of the rows in the output, an i32.
        column: the first column in the output, an i32.
        source: address of the rows in shared memory, whose chunks are permuted.
    """
    element = access.element_type
    nbytes = element.width // 8
    lane, warp = fragment.lane, arith.muli(fragment.warp, i32(_WARP_ROWS))
    own_row = arith.addi(row, warp)
    start = arith.addi(source, arith.muli(warp, i32(SWIZZLE)))
    for number in range(_WARP_ROWS):
        this_row = arith.addi(own_row, i32(number))
        line = fragment.row_start(access, this_row)
        for first in range(0, SWIZZLE // nbytes, WARP):
            inside = _place(lane, first, number % _PATTERN, nbytes)
            place = arith.addi(arith.addi(start, i32(number * SWIZZLE)), inside)
            value = ld_shared(place, element)
            this_column = arith.addi(column, arith.addi(lane, i32(first)))
            with when(fragment.is_inside(this_row, this_column)):
                store(value, access, plus(line, as_index(this_column)))


def _place(lane: ir.Value, first: int, row: int, nbytes: int) -> ir.Value:
    """Return the byte of a row at which element `first` plus `lane` is."""
    count = _CHUNK // nbytes
    chunk = arith.addi(arith.divui(lane, i32(count)), i32(first // count))
    chunk = arith.xori(chunk, i32(row))
    inside = arith.muli(arith.remui(lane, i32(count)), i32(nbytes))
    return arith.addi(arith.muli(chunk, i32(_CHUNK)), inside)
