# SPDX-License-Identifier: MIT OR Apache-2.0
"""Assigns the elements of an f32 tile to threads, and orders those of a thread."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.fma.tiles import VECTOR, FmaTile
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.emit.thread_grid import i32, thread_number

_ROW_BITS = {1: (), 2: (1,), 4: (1, 4), 8: (1, 3, 4)}
"""Bits of a thread's number in its warp that say its row, for every number of rows.

Bit 0 is one of a column, and bit 1 one of a row, so that neighbours share words of either factor.
"""


def first_place(tile: FmaTile) -> tuple[ir.Value, ir.Value]:
    """Return the first row and column of the current thread in a tile, i32s."""
    warp, lane = arith.divui(thread_number(), i32(WARP)), arith.remui(thread_number(), i32(WARP))
    row_bits = _ROW_BITS[tile.lane_rows]
    column_bits = [bit for bit in range(5) if bit not in row_bits]
    down, across = arith.remui(warp, i32(tile.warp_rows)), arith.divui(warp, i32(tile.warp_rows))
    row = arith.muli(down, i32(tile.lane_rows * tile.own_rows))
    column = arith.muli(across, i32(tile.lane_columns * tile.own_columns))
    return (
        arith.addi(row, arith.muli(_bits(lane, row_bits), i32(VECTOR))),
        arith.addi(column, arith.muli(_bits(lane, column_bits), i32(VECTOR))),
    )


def _bits(number: ir.Value, wanted: Sequence[int]) -> ir.Value:
    """Return the wanted bits of a number side by side."""
    total: ir.Value = i32(0)
    for place, bit in enumerate(wanted):
        moved = arith.shrui(number, i32(bit - place))
        total = arith.ori(total, arith.andi(moved, i32(1 << place)))
    return total


def winding(rows: int, columns: int) -> list[tuple[int, int]]:
    """Return all places of a thread, so that neighbours share a row or a column.

    An operand that the instruction before has read as well needs no read port of the registers,
    of which there are two (Jia et al., "Dissecting the NVIDIA Volta GPU Architecture via
    Microbenchmarking", 2018). Vectors of both factors are multiplied whole, as they arrive.
    """
    places: list[tuple[int, int]] = []
    for number, top in enumerate(range(0, rows, VECTOR)):
        lefts = list(range(0, columns, VECTOR))
        for left in lefts[::-1] if number % 2 else lefts:
            by_columns = len(places) // VECTOR**2 % 2 == 1
            ways = [_square(top, left, way, by_columns=by_columns) for way in range(4)]
            places += next((way for way in ways if _is_beside(places[-1:], way[0])), ways[0])
    return places


def _square(top: int, left: int, way: int, *, by_columns: bool) -> list[tuple[int, int]]:
    """Return the places of a square in a winding line, from the corner numbered `way` on."""
    outer, inner = range(VECTOR), range(VECTOR)
    found = []
    for number, first in enumerate(outer[::-1] if way & 2 else outer):
        turned = (number + way) % 2
        for second in inner[::-1] if turned else inner:
            down, across = (second, first) if by_columns else (first, second)
            found.append((top + down, left + across))
    return found


def _is_beside(last: Sequence[tuple[int, int]], place: tuple[int, int]) -> bool:
    return bool(last) and (last[0][0] == place[0] or last[0][1] == place[1])
