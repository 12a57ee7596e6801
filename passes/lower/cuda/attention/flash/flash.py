# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention with warps of sixteen queries, for every size, mask and layout.

A block copies tiles of keys and values to shared memory while it computes on those before (Dao et
al., "FlashAttention", 2022). Few blocks share out the keys of a row among warps, which put their
results together at the end in a fixed order, so that a result does not depend on timing.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from xyntra.dialects.scalar import Scalar
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.attention.flash.cores import LANES, multiplier
from xyntra.passes.lower.cuda.attention.flash.fragments import Multiplier
from xyntra.passes.lower.cuda.attention.flash.merge import Merge
from xyntra.passes.lower.cuda.attention.flash.softmax import ThreadRowState, renewed
from xyntra.passes.lower.cuda.attention.flash.staging import RowStaging
from xyntra.passes.lower.cuda.attention.machine import bounded, shared_address
from xyntra.passes.lower.cuda.attention.plan import ROWS, FlashPlan
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.ptx.copies import cp_async_commit_group, cp_async_wait_group
from xyntra.passes.lower.gpu.attention.layout import Matrix
from xyntra.passes.lower.gpu.attention.masks import MaskLoads, WarpMasks
from xyntra.passes.lower.gpu.attention.problem import Located, Outer, Problem, outer_of
from xyntra.passes.lower.gpu.attention.values import Registers, loop, number, when
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    barrier,
    block_number,
    thread_number,
)


def emit_flash(problem: Problem, plan: FlashPlan, shared: SharedMemory) -> LaunchShape:
    """Emit an attention for a launch of the returned shape."""
    b, h, s, _, _, _ = problem.sizes
    _Block.placed(problem, plan, shared_address(dynamic_memory(shared))).emit()
    blocks = b * h * -(-s // plan.rows)
    return LaunchShape(blocks, plan.threads, shared=plan.shared)


@dataclass(frozen=True)
class _Block:
    """One block's queries, and where everything of it lies.

    Attributes:
        thread: uint32.
        shared: address of the block's shared memory.
        outer: the batch and the head.
        first: the first query, int32.
        row_warp: the number of the warp along the queries, uint32.
        key_warp: likewise along the keys.
    """

    problem: Problem
    plan: FlashPlan
    thread: Scalar
    shared: Scalar
    outer: Outer
    first: Scalar
    row_warp: Scalar
    key_warp: Scalar

    @classmethod
    def placed(cls, problem: Problem, plan: FlashPlan, shared: Scalar) -> _Block:
        _, h, s, _, _, _ = problem.sizes
        thread, block = Scalar(thread_number(), "uint32"), Scalar(block_number(), "uint32")
        tiles = -(-s // plan.rows)
        tile, pair = block % tiles, block / tiles
        if problem.skips_keys:  # those with the most keys begin first
            tile = number(tiles - 1, "uint32") - tile
        outer = outer_of((pair / h).cast("int32"), (pair % h).cast("int32"))
        warp = thread / LANES
        first = (tile * plan.rows).cast("int32")
        place = (warp % plan.row_warps, warp / plan.row_warps)
        return cls(problem, plan, thread, shared, outer, first, *place)

    def emit(self) -> None:
        """Emit the whole block."""
        cores = self._cores()
        row = self.row_warp * ROWS + cores.layout.row.cast("uint32")
        first = self.first + row.cast("int32")
        plan = self.plan
        is_ragged = self.problem.sizes[3] % plan.keys != 0
        masks = WarpMasks(
            self.problem, self.outer, cores.layout, first, plan.warp_keys, is_ragged, bounded
        )
        state = _Walk(self, cores, masks).run()
        cp_async_wait_group(0)
        barrier()  # shared memory is used anew
        merge = Merge(self.problem, self.plan, self.shared, self.outer, self.first)
        merge.leave(cores.layout, state, row, self.key_warp)
        merge.collect()

    def _cores(self) -> Multiplier:
        plan, lane = self.plan, self.thread % LANES
        queries = self.shared + self.row_warp * (ROWS * plan.key_pitch)
        return multiplier(plan, self.problem.dtype, self.thread, lane, self.shared, queries)

    def staging(self, operand: Located, rows: int) -> RowStaging:
        """Copies of `rows` rows of an operand."""
        plan = self.plan
        return RowStaging.of(
            self.problem, plan, operand, self.outer, rows, self.thread, plan.threads
        )

    def steps(self) -> Scalar:
        """Return how many tiles of keys there are for the block, an int32."""
        keys, step = self.problem.sizes[3], self.plan.keys
        if not self.problem.skips_keys:
            return number(-(-keys // step))
        seen = self.first + (self.plan.rows + (self.problem.op.causal_offset or 0))
        return (seen.maximum(0).minimum(keys) + (step - 1)) / step


class _Walk:
    """Takes a block over its keys, one tile after the other."""

    def __init__(self, block: _Block, cores: Multiplier, masks: WarpMasks) -> None:
        problem, plan = block.problem, block.plan
        self._block, self._cores, self._masks, self._plan = block, cores, masks, plan
        self._keys = block.staging(problem.key, plan.keys)
        self._values = block.staging(problem.value, plan.keys)
        self._is_single = always_at_most(problem.sizes[3], plan.keys)
        self._has_lead = plan.stages == 2 or self._is_single

    def run(self) -> ThreadRowState:
        """Emit all steps and return what they leave in registers."""
        block, zero = self._block, number(0)
        block.staging(block.problem.query, self._plan.rows).begin(block.shared, block.first)
        if self._has_lead:
            self._begin_keys(zero)
        cp_async_commit_group()
        if self._has_lead:
            self._begin_values(zero)
            cp_async_commit_group()
        read = self._read(zero) if self._is_single else None
        cp_async_wait_group(int(self._has_lead))
        barrier()
        self._cores.keep_queries()
        state = ThreadRowState.empty(self._cores.layout)
        if read is not None:
            weights, state = self._weigh(zero, read, state)
            cp_async_wait_group(0)
            barrier()
            return self._add(zero, weights, state)
        count = block.steps()

        def step(place: Scalar, carried: Registers) -> Registers:
            return self._step(place, count, state.restored(carried)).registers

        return state.restored(loop(count, state.registers, step))

    def _step(self, place: Scalar, count: Scalar, state: ThreadRowState) -> ThreadRowState:
        following = place + 1
        has_following = following < count
        if not self._has_lead:
            barrier()  # the last tile has been read
            self._begin_keys(place)
            cp_async_commit_group()
            self._begin_values(place)
            cp_async_commit_group()
        read = self._read(place)
        cp_async_wait_group(1)
        barrier()
        if self._has_lead:
            with when(has_following):
                self._begin_keys(following)
            cp_async_commit_group()
        weights, state = self._weigh(place, read, state)
        cp_async_wait_group(1 if self._has_lead else 0)
        barrier()
        if self._has_lead:
            with when(has_following):
                self._begin_values(following)
            cp_async_commit_group()
        return self._add(place, weights, state)

    def _weigh(
        self, place: Scalar, read: MaskLoads, state: ThreadRowState
    ) -> tuple[Matrix, ThreadRowState]:
        """Weights of the warp's keys of a tile, and the state brought to their maximum."""
        plan, layout = self._plan, self._cores.layout
        share = self._block.key_warp * (plan.warp_keys * plan.key_pitch)
        products = self._cores.scores(self._key_tile(place) + share)
        warp_first = self._warp_first(place)
        scores = self._masks.apply(products, read, warp_first + layout.key, warp_first)
        return renewed(self._block.problem, layout, scores, state)

    def _add(self, place: Scalar, weights: Matrix, state: ThreadRowState) -> ThreadRowState:
        plan = self._plan
        share = self._block.key_warp * (plan.warp_keys * plan.value_pitch)
        accumulators = self._cores.weighted(
            weights, self._value_tile(place) + share, state.accumulators
        )
        return replace(state, accumulators=accumulators)

    def _read(self, place: Scalar) -> MaskLoads:
        return self._masks.read(self._warp_first(place) + self._cores.layout.key)

    def _warp_first(self, place: Scalar) -> Scalar:
        share = (self._block.key_warp * self._plan.warp_keys).cast("int32")
        return place * self._plan.keys + share

    def _begin_keys(self, place: Scalar) -> None:
        self._keys.begin(self._key_tile(place), place * self._plan.keys)

    def _begin_values(self, place: Scalar) -> None:
        self._values.begin(self._value_tile(place), place * self._plan.keys)

    def _key_tile(self, place: Scalar) -> Scalar:
        plan = self._plan
        return self._slot(place, plan.key_start, plan.keys * plan.key_pitch)

    def _value_tile(self, place: Scalar) -> Scalar:
        plan = self._plan
        return self._slot(place, plan.value_start, plan.keys * plan.value_pitch)

    def _slot(self, place: Scalar, start: int, nbytes: int) -> Scalar:
        first = self._block.shared + start
        return first + (place.cast("uint32") & 1) * nbytes if self._plan.stages == 2 else first
