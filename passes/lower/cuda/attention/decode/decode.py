# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of few queries with many keys, as when text is generated with a cache of keys.

What takes time is to read keys and values, once for all heads that share them. The blocks of a
cluster share out the keys of up to sixteen rows (Dao et al., "Flash-Decoding", 2023), their warps
share out those of a block, and each warp copies ahead for itself, without waiting for others.
Results are put together at the end in a fixed order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.cuda.attention.decode.cluster_merge import ClusterMerge
from xyntra.passes.lower.cuda.attention.decode.plan import DecodePlan
from xyntra.passes.lower.cuda.attention.flash.cores import LANES, multiplier
from xyntra.passes.lower.cuda.attention.flash.fragments import Multiplier
from xyntra.passes.lower.cuda.attention.flash.merge import Merge
from xyntra.passes.lower.cuda.attention.flash.softmax import ThreadRowState, renewed
from xyntra.passes.lower.cuda.attention.flash.staging import RowStaging
from xyntra.passes.lower.cuda.attention.machine import bounded, shared_address
from xyntra.passes.lower.cuda.attention.plan import ROWS
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.ptx.barriers import bar_warp_sync_asm
from xyntra.passes.lower.cuda.ptx.copies import cp_async_commit_group, cp_async_wait_group
from xyntra.passes.lower.cuda.ptx.special_registers import cluster_ctarank
from xyntra.passes.lower.gpu.attention.masks import WarpMasks
from xyntra.passes.lower.gpu.attention.problem import Located, Outer, outer_of
from xyntra.passes.lower.gpu.attention.values import Registers, loop, number, when
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    barrier,
    block_number,
    thread_number,
)


def emit_decode(plan: DecodePlan, shared: SharedMemory) -> LaunchShape:
    """Emit an attention for a launch of the returned shape."""
    _Block.placed(plan, shared_address(dynamic_memory(shared))).emit()
    return LaunchShape(plan.blocks, plan.tiles.threads, shared=plan.shared, cluster=plan.cluster)


@dataclass(frozen=True)
class _Block:
    """One block's rows and keys, and where everything of it lies.

    Attributes:
        thread: uint32.
        shared: address of the block's shared memory.
        outer: the batch and the head.
        first: the first row, int32.
        rank: of the block in its cluster, uint32.
    """

    plan: DecodePlan
    thread: Scalar
    shared: Scalar
    outer: Outer
    first: Scalar
    rank: Scalar

    @classmethod
    def placed(cls, plan: DecodePlan, shared: Scalar) -> _Block:
        h = plan.problem.sizes[1]
        thread, block = Scalar(thread_number(), "uint32"), Scalar(block_number(), "uint32")
        rank = number(0, "uint32")
        if plan.cluster > 1:
            rank, block = Scalar(cluster_ctarank(), "uint32"), block / plan.cluster
        tile, pair = block % plan.rows, block / plan.rows
        outer = outer_of((pair / h).cast("int32"), (pair % h).cast("int32"))
        return cls(plan, thread, shared, outer, (tile * ROWS).cast("int32"), rank)

    @property
    def warp(self) -> Scalar:
        """The number of the warp in the block, uint32."""
        return self.thread / LANES

    @property
    def lane(self) -> Scalar:
        """The number of the thread in its warp, uint32."""
        return self.thread % LANES

    def emit(self) -> None:
        """Emit the whole block."""
        plan, problem = self.plan, self.plan.problem
        cores = self._cores()
        state = _Walk(self, cores).run()
        cp_async_wait_group(0)
        barrier()  # shared memory is used anew
        if plan.cluster == 1:
            merge = Merge(problem, plan.tiles, self.shared, self.outer, self.first)
        else:
            merge = ClusterMerge(
                problem, plan.tiles, self.shared, self.outer, self.first, plan.cluster,
                self.rank, plan.parts_start,
            )  # fmt: skip
        merge.leave(cores.layout, state, cores.layout.row.cast("uint32"), self.warp)
        merge.collect()

    def _cores(self) -> Multiplier:
        tiles, dtype = self.plan.tiles, self.plan.problem.dtype
        return multiplier(tiles, dtype, self.thread, self.lane, self.shared, self.shared)

    def staging(self, operand: Located) -> RowStaging:
        """Copies of rows of an operand: of queries by the block, of others by a warp."""
        tiles, problem = self.plan.tiles, self.plan.problem
        if operand is problem.query:
            share = ROWS, self.thread, tiles.threads
        else:
            share = tiles.warp_keys, self.lane, LANES
        return RowStaging.of(problem, tiles, operand, self.outer, *share, lines=True)


class _Walk:
    """Takes a warp over its tiles of keys, which are those of all warps by turns."""

    def __init__(self, block: _Block, cores: Multiplier) -> None:
        plan, problem = block.plan, block.plan.problem
        self._block, self._cores, self._tiles = block, cores, plan.tiles
        self._keys, self._values = block.staging(problem.key), block.staging(problem.value)
        self._problem = problem
        first = block.first + cores.layout.row
        keys = plan.tiles.warp_keys
        is_ragged = problem.sizes[3] % keys != 0
        self._masks = WarpMasks(problem, block.outer, cores.layout, first, keys, is_ragged, bounded)
        self._warps = plan.warps
        self._own = block.rank * plan.tiles.key_warps + block.warp

    def run(self) -> ThreadRowState:
        """Emit all steps and return what they leave in registers."""
        block, ahead = self._block, self._tiles.stages - 1
        block.staging(self._problem.query).begin(block.shared, block.first)
        cp_async_commit_group()
        left = self._steps() + (self._warps - 1) - self._own
        count = (left / self._warps).cast("int32")
        for turn in range(ahead):
            self._begin(number(turn), count)
        cp_async_wait_group(ahead)
        barrier()
        self._cores.keep_queries()
        state = ThreadRowState.empty(self._cores.layout)

        def step(turn: Scalar, carried: Registers) -> Registers:
            first = self._first(turn)
            read = self._masks.read(first + self._cores.layout.key)
            cp_async_wait_group(ahead - 1)
            bar_warp_sync_asm()  # the copies of all lanes are there, and the slot before is free
            self._begin(turn + ahead, count)
            inside = state.restored(carried)
            products = self._cores.scores(self._key_tile(turn))
            scores = self._masks.apply(products, read, first + self._cores.layout.key, first)
            weights, inside = renewed(self._problem, self._cores.layout, scores, inside)
            accumulators = self._cores.weighted(
                weights, self._value_tile(turn), inside.accumulators
            )
            return replace(inside, accumulators=accumulators).registers

        return state.restored(loop(count, state.registers, step))

    def _steps(self) -> Scalar:
        """Return how many tiles of keys the warps of the cluster share, a uint32.

        Where a call says how many keys there are, tiles behind the last one are not read.
        """
        limit, steps = self._problem.limit, number(self._block.plan.steps, "uint32")
        if limit is None:
            return steps
        place = limit.start(self._block.outer).cast("index")
        keys = Scalar(emit("memref.load", [limit.matrix.memory, place.value], _i64()), "int64")
        bounded = keys.maximum(0).minimum(self._problem.sizes[3]).cast("uint32")
        tile = self._tiles.warp_keys
        return ((bounded + (tile - 1)) / tile).minimum(steps)

    def _begin(self, turn: Scalar, count: Scalar) -> None:
        """Begin to copy a tile if there is one, as one group."""
        with when(turn < count):
            first = self._first(turn)
            self._keys.begin(self._key_tile(turn), first)
            self._values.begin(self._value_tile(turn), first)
        cp_async_commit_group()

    def _first(self, turn: Scalar) -> Scalar:
        """The first key of a tile, an int32."""
        tile = turn.cast("uint32") * self._warps + self._own
        return (tile * self._tiles.warp_keys).cast("int32")

    def _key_tile(self, turn: Scalar) -> Scalar:
        tiles = self._tiles
        return self._slot(turn, tiles.key_start, tiles.warp_keys * tiles.key_pitch)

    def _value_tile(self, turn: Scalar) -> Scalar:
        tiles = self._tiles
        return self._slot(turn, tiles.value_start, tiles.warp_keys * tiles.value_pitch)

    def _slot(self, turn: Scalar, start: int, nbytes: int) -> Scalar:
        slot = turn.cast("uint32") % self._tiles.stages
        place = self._block.warp * self._tiles.stages + slot
        return self._block.shared + place * nbytes + start


def _i64() -> ir.Type:
    return ir.IntegerType.get_signless(64)
