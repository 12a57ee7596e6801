# SPDX-License-Identifier: MIT OR Apache-2.0
"""Adds up what the blocks of a cluster have summed of one tile, and writes it.

Where there are few tiles, the blocks of a cluster share the reduction of each: every block leaves
its accumulators, as f32s, where its ring of stages was, and writes a share of the tile once it has
added the others' to them, in the order of their ranks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.mma.result import MmaResult
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.matmul.wgmma.exchange import Exchange
from xyntra.passes.lower.cuda.matmul.wgmma.plan import WgmmaPlan, accumulator_tile
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import WARPGROUP, WARPGROUP_ROWS
from xyntra.passes.lower.cuda.ptx.barriers import bar_sync, fence_proxy_async
from xyntra.passes.lower.cuda.ptx.clusters import (
    barrier_cluster,
    barrier_cluster_arrive,
    barrier_cluster_wait,
)
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.emit.thread_grid import barrier, i32, thread_number
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.roles import Roles

_CONSUMERS = 1  # number of the barrier at which all consumers wait
_WARP_ROWS = 16


def leave_sums(
    plan: WgmmaPlan, memory: ir.Value, consumer: ir.Value, accumulators: Sequence[ir.Value]
) -> None:
    """Store a consumer's accumulators at the start of the block's shared memory.

    Args:
        plan: of the product.
        memory: address of the shared memory, an i32.
        consumer: its number, an i32.
        accumulators: of this thread.
    """
    threads = i32(plan.order.tile.consumers * WARPGROUP)
    bar_sync(i32(_CONSUMERS), threads)  # all have read the ring
    own = arith.andi(thread_number(), i32(WARPGROUP - 1))
    warp = arith.shrui(own, i32(WARP.bit_length() - 1))
    row = arith.muli(consumer, i32(WARPGROUP_ROWS))
    row = arith.addi(row, arith.muli(warp, i32(_WARP_ROWS)))
    _result(plan, memory).exchange((row, i32(0)), accumulators)
    if plan.sends:
        fence_proxy_async()


def write_share(
    plan: WgmmaPlan,
    memory: ir.Value,
    place: TilePosition,
    rank: ir.Value,
    table: RowTable | None,
    exchange: Exchange | None,
) -> None:
    """Write a block's share of a tile, as every thread of the cluster.

    Args:
        plan: of the product.
        memory: address of the shared memory, an i32.
        place: of the tile.
        rank: of the block, an i32.
        table: values of the tile's rows.
        exchange: how blocks send each other their accumulators; None where they read them.
    """
    barrier()  # the threads of a warp come from several branches
    result = _result(plan, memory, table)
    share = replace(place, rank=rank)
    if exchange is None:
        barrier_cluster()
        result.write_share(share, ir.F32Type.get())
        barrier_cluster(release=False)  # nobody reads this block's memory any more
        return
    barrier_cluster_wait()  # their mbarriers are there
    exchange.send(rank)
    result = replace(result, shares=exchange.receive(rank))
    barrier_cluster_arrive(release=False)
    result.write_share(share, ir.F32Type.get())
    barrier_cluster_wait()  # what this block has sent was read


def _result(plan: WgmmaPlan, memory: ir.Value, table: RowTable | None = None) -> MmaResult:
    (_, results), *_ = plan.results
    product, tile = results.product, plan.order.tile
    roles = Roles(product.batch, product.rows, product.columns, product.depth, 0, 1)
    return MmaResult(
        product.nest,
        roles,
        results.epilogue,
        None,
        accumulator_tile(tile),
        memory,
        table=table,
        partials=plan.partials,
    )
