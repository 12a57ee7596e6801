# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the tile of a block in a contraction, and the launch of all blocks."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.matmul.fma.tiles import FmaTile
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile
from xyntra.passes.lower.gpu.emit.thread_grid import block_number, delinearize, i32
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.roles import Roles, extents, outputs, size
from xyntra.passes.lower.loops.linear_nest import LinearNest

_GROUP = 8  # tiles above each other that run at one time, so that their columns stay in the cache


def launch_of(
    nest: LinearNest, roles: Roles, tile: MmaTile | FmaTile, resident: int = 0
) -> CudaLaunch:
    """Return a launch with as many blocks as there are tiles, or slices of them."""
    sizes = [size(nest, loops) for loops in outputs(roles)]
    blocks = tile.tiles(*sizes) * tile.split
    return CudaLaunch(blocks, tile.threads, tile.shared_bytes, tile.split, resident=resident)


def place_of_block(
    nest: LinearNest, roles: Roles, tile: MmaTile | FmaTile
) -> tuple[TilePosition, ir.Value]:
    """Return where the block's tile lies, and the number of the output that it is of, an i32."""
    number, rank = block_number(), None
    if tile.split > 1:
        rank = arith.remui(number, i32(tile.split))
        number = arith.divui(number, i32(tile.split))
    sizes = [size(nest, loops) for loops in outputs(roles)]
    batch, row, column = _tile_number(number, tile, sizes)
    row, column = arith.muli(row, i32(tile.rows)), arith.muli(column, i32(tile.columns))
    position = delinearize(batch, extents(nest, roles.batch))
    return TilePosition(position, row, column, rank), batch


def _tile_number(
    number: ir.Value, tile: MmaTile | FmaTile, sizes: Sequence[int]
) -> tuple[ir.Value, ir.Value, ir.Value]:
    """Return which output of the batch a tile is of, and which row and column of tiles, i32s.

    Args:
        number: of the tile, an i32.
        tile: its size.
        sizes: rows and columns of an output, and outputs.
    """
    down, across = -(-sizes[0] // tile.rows), -(-sizes[1] // tile.columns)
    batch = arith.divui(number, i32(down * across))
    number = arith.remui(number, i32(down * across))
    if always_at_most(down, _GROUP):
        return batch, arith.remui(number, i32(down)), arith.divui(number, i32(down))
    group = arith.muli(arith.divui(number, i32(_GROUP * across)), i32(_GROUP))
    inside = arith.remui(number, i32(_GROUP * across))
    height: ir.Value = i32(_GROUP)
    if down % _GROUP:
        height = arith.minsi(arith.subi(i32(down), group), height)
    return batch, arith.addi(group, arith.remui(inside, height)), arith.divui(inside, height)


def unless_zero(value: ir.Value) -> ir.Value | None:
    """Return a scalar, None where it is the constant zero."""
    return None if constant_number(value) == 0 else value
