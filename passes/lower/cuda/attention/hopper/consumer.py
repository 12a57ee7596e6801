# SPDX-License-Identifier: MIT OR Apache-2.0
"""A warpgroup that computes 64 queries of every tile of its block.

In every step, exponentials of a part of the scores precede the products of that part with the
values, which run while the next part's are computed; then the next step's product of queries and
keys is issued, and only then does the warpgroup wait.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial, reduce

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.flash.softmax import unit
from xyntra.passes.lower.cuda.attention.hopper.block import HopperBlock, QueryTile, RingPosition
from xyntra.passes.lower.cuda.attention.hopper.instructions import (
    ROW_BYTES,
    advanced,
    descriptor,
    fence,
    multiply_registers,
    multiply_shared,
    opaque,
    wait_for_phase,
    wait_for_products,
)
from xyntra.passes.lower.cuda.attention.hopper.plan import CHUNK, GROUP_ROWS
from xyntra.passes.lower.cuda.attention.hopper.result import write_rows
from xyntra.passes.lower.cuda.attention.hopper.softmax import Scale, Softmax, renewed, rows_of
from xyntra.passes.lower.cuda.attention.machine import bounded, exp2, packed_pairs
from xyntra.passes.lower.cuda.ptx.barriers import mbarrier_arrive_asm
from xyntra.passes.lower.cuda.ptx.warpgroups import wgmma_commit_group_asm
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout
from xyntra.passes.lower.gpu.attention.masks import WarpMasks
from xyntra.passes.lower.gpu.attention.values import (
    Registers,
    loop,
    number,
    real,
    replaced_when,
    when,
)

_K = 16  # steps of the reduction of one product
_PART = 2  # products whose weights are computed at a time
_ITEM = 2

Hide = Callable[[Scalar, Registers], Registers]
"""Masks the scores of a step, given by its number."""


@dataclass(frozen=True)
class Flow:
    """The values that the loop over keys carries from step to step.

    Attributes:
        softmax: of the tile.
        scores: products of queries and the step's keys.
        keys: the slot of the keys of the step behind that.
        values: the slot of the step's values.
    """

    softmax: Softmax
    scores: Registers
    keys: RingPosition
    values: RingPosition

    @property
    def registers(self) -> Registers:
        """Return the values that a loop carries, in the order in which `restored` takes them."""
        rings = [*self.keys.registers, *self.values.registers]
        return [*rings, *self.scores, *self.softmax.registers]

    def restored(self, values: Registers) -> Flow:
        """From what `registers` gave."""
        keys, others = (
            RingPosition(self.keys.slots, *values[:2]),
            RingPosition(self.values.slots, *values[2:4]),
        )
        rest, count = values[4:], len(self.scores)
        return Flow(Softmax.of(rest[count:]), rest[:count], keys, others)


class Consumer:
    """Emits the code of one warpgroup.

    Args:
        block: the block.
        group: the number of the warpgroup among those that compute, uint32, the same in a warp.
        thread: the number of the thread in the warpgroup, uint32.
    """

    def __init__(self, block: HopperBlock, group: Scalar, thread: Scalar) -> None:
        plan, shared = block.plan, block.shared
        self._block, self._plan, self._group = block, plan, group
        self._lane, self._warp = thread & 31, thread >> 5
        self._accumulators = plan.value_size // 2
        own = shared + group * (plan.query_slots * plan.query_bytes)
        self._queries = descriptor(own, 16)
        self._keys = descriptor(shared + plan.key_start, 16)
        self._values = descriptor(shared + plan.value_start, plan.keys * ROW_BYTES)
        self._scores = plan.keys // 2  # registers
        problem = block.problem
        self._scale = Scale(unit(problem), problem.is_raw)
        self._has_masks = problem.keep is not None or not problem.is_raw

    def run(self) -> None:
        """Emit the loop over the block's tiles."""
        plan, barriers = self._plan, self._block.barriers
        zero = number(0, "uint32")
        wait_for_phase(barriers.query(self._group, zero, full=True), zero)
        wait_for_phase(barriers.key(zero, full=True), zero)
        fence([])
        scores = wait_for_products(self._products(zero, zero))
        self._release(barriers.key(zero, full=False))
        keys, values = (
            RingPosition.first(plan.key_slots).next(),
            RingPosition.first(plan.value_slots),
        )
        flow = Flow(Softmax.empty(self._accumulators), scores, keys, values)
        order = self._block.order
        count, start = order.count(), order.start()

        def body(turn: Scalar, carried: Registers) -> Registers:
            inside = flow.restored([*carried[1:], *Softmax.empty(self._accumulators).registers])
            tile = self._block.tile(carried[0])
            inside = self._all_but_first(tile, turn, inside)
            following = order.tile(opaque(start), turn.cast("uint32") + 1)
            # What is computed anew need not stay in registers through all steps.
            tile = self._block.tile(opaque(carried[0]))
            after = self._first(tile, turn, (turn + 1) < count, inside)
            return [following, *after.registers[: len(carried) - 1]]

        first = order.tile(start, zero)
        loop(count, [first, *flow.registers[: 4 + self._scores]], body)

    def _all_but_first(self, tile: QueryTile, turn: Scalar, flow: Flow) -> Flow:
        queries = RingPosition.at(self._plan.query_slots, turn.cast("uint32"))
        if self._has_masks:
            flow = self._masked_steps(tile, flow, queries)
        else:
            flow = self._plain_steps(tile, flow, queries)
        self._release(self._block.barriers.query(self._group, queries.slot, full=False))
        return flow

    def _first(self, tile: QueryTile, turn: Scalar, has_next: Scalar, flow: Flow) -> Flow:
        """The first step, which is done last, with the next tile's first products; the result."""
        following = RingPosition.at(self._plan.query_slots, turn.cast("uint32") + 1)

        def wait(keys: RingPosition) -> None:
            with when(has_next):
                barriers = self._block.barriers
                full = barriers.query(self._group, following.slot, full=True)
                wait_for_phase(full, following.phase)
                wait_for_phase(barriers.key(keys.slot, full=True), keys.phase)

        def release(keys: RingPosition) -> None:
            with when(has_next):
                self._release(self._block.barriers.key(keys.slot, full=False))

        flow = self._masked_first(tile, flow)
        flow = self._step(flow, following.slot, wait, release)
        write_rows(self._block.problem, tile.outer, self._first_row(tile), self._lane, flow.softmax)
        return flow

    def _plain_steps(self, tile: QueryTile, flow: Flow, queries: RingPosition) -> Flow:
        """All steps but the first; those come first whose keys are not all seen."""
        whole, has_partial = self._whole_steps(tile)
        if has_partial:
            count = opaque(tile.steps - whole)  # as straight code, products would run one by one
            flow = self._steps((tile.steps, count), flow, queries, partial(self._hidden, tile))
        return self._steps((whole, whole - 1), flow, queries, None)

    def _masked_steps(self, tile: QueryTile, flow: Flow, queries: RingPosition) -> Flow:
        """Emit steps with masks that are read from memory; only the last may lack keys."""
        end = tile.steps
        if self._block.problem.sizes[3] % self._plan.keys:
            count = opaque((end - 1).minimum(1))
            flow = self._steps((end, count), flow, queries, partial(self._masked, tile, True))
            end = end - count
        count = opaque(end - 1)
        return self._steps((end, count), flow, queries, partial(self._masked, tile, False))

    def _steps(
        self, steps: tuple[Scalar, Scalar], flow: Flow, queries: RingPosition, hide: Hide | None
    ) -> Flow:
        """Steps down from one before the first number, as many as the second."""
        end, count = steps

        def wait(keys: RingPosition) -> None:
            wait_for_phase(self._block.barriers.key(keys.slot, full=True), keys.phase)

        def release(keys: RingPosition) -> None:
            self._release(self._block.barriers.key(keys.slot, full=False))

        def body(done: Scalar, carried: Registers) -> Registers:
            inside = flow.restored(carried)
            if hide is not None:
                inside = replace(inside, scores=hide(end - 1 - done, inside.scores))
            return self._step(inside, queries.slot, wait, release).registers

        return flow.restored(loop(count, flow.registers, body))

    def _step(
        self,
        flow: Flow,
        queries: Scalar,
        wait: Callable[[RingPosition], None],
        release: Callable[[RingPosition], None],
    ) -> Flow:
        """Finish a step, and compute the products of the next.

        Args:
            flow: with the scores of the step, masked.
            queries: the slot of the queries of the next step.
            wait: waits for the next step's operands.
            release: gives its keys back.
        """
        barriers = self._block.barriers
        softmax = renewed(flow.softmax, flow.scores, self._scale)
        wait_for_phase(barriers.value(flow.values.slot, full=True), flow.values.phase)
        softmax = self._weigh(softmax, flow.scores, flow.values.slot)
        wgmma_commit_group_asm()
        wait(flow.keys)
        fence([])
        scores = self._products(queries, flow.keys.slot)
        done = wait_for_products([*softmax.accumulators, *scores])
        softmax = Softmax(softmax.shift, softmax.total, done[: self._accumulators])
        self._release(barriers.value(flow.values.slot, full=False))
        release(flow.keys)
        return Flow(softmax, done[self._accumulators :], flow.keys.next(), flow.values.next())

    def _weigh(self, state: Softmax, scores: Registers, slot: Scalar) -> Softmax:
        """Issue the products of weights and values, part by part."""
        plan, dtype = self._plan, self._block.problem.dtype
        start = self._values + slot.cast("uint64") * (plan.value_bytes >> 4)
        accumulators = state.accumulators
        totals: list[list[Scalar | None]] = [[None, None], [None, None]]
        for first in range(0, plan.keys // _K, _PART):
            weights = []
            for i in range(8 * first, 8 * (first + _PART)):
                row, chain = i // 2 % 2, i // 4 % 2
                weights.append(exp2(self._scale.exponent(scores[i], state.shift[row])))
                before = totals[row][chain]
                totals[row][chain] = weights[-1] if before is None else before + weights[-1]
            pairs = packed_pairs(weights, dtype)
            if first == 0:
                together = fence([*accumulators, *pairs])
                accumulators, pairs = together[: self._accumulators], together[self._accumulators :]
            else:
                pairs = fence(pairs)
            for k in range(_PART):
                right = advanced(start, (first + k) * _K * ROW_BYTES)
                left = pairs[4 * k : 4 * k + 4]
                accumulators = multiply_registers(accumulators, left, right, plan.value_size, dtype)
        added = [reduce(operator.add, filter(None, chains)) for chains in totals]
        total = [old + new for old, new in zip(state.total, added, strict=True)]
        return Softmax(state.shift, total, accumulators)

    def _products(self, queries: Scalar, keys: Scalar) -> Registers:
        """Issue the products of queries and keys in their slots."""
        plan = self._plan
        left = self._queries + queries.cast("uint64") * (plan.query_bytes >> 4)
        right = self._keys + keys.cast("uint64") * (plan.key_bytes >> 4)
        accumulators: Registers | None = None
        for step in range(0, plan.key_chunks * CHUNK, _K):
            chunk, inside = divmod(step, CHUNK)
            a = advanced(left, chunk * GROUP_ROWS * ROW_BYTES + inside * _ITEM)
            b = advanced(right, chunk * plan.keys * ROW_BYTES + inside * _ITEM)
            accumulators = multiply_shared(accumulators, a, b, plan.keys, self._block.problem.dtype)
        wgmma_commit_group_asm()
        return accumulators or []

    def _release(self, barrier: Scalar) -> None:
        with when(self._lane.equals(0)):
            mbarrier_arrive_asm(barrier.value)

    def _first_row(self, tile: QueryTile) -> Scalar:
        """The thread's first query, int32; the other one is the eighth behind it."""
        inside = self._group * GROUP_ROWS + self._warp * 16 + (self._lane >> 2)
        return tile.first + inside.cast("int32")

    def _whole_steps(self, tile: QueryTile) -> tuple[Scalar, bool]:
        """How many steps all queries see whole, at least one; and whether there may be others.

        The first step is masked apart from these, where that is needed.
        """
        keys = self._block.problem.sizes[3]
        step = self._plan.keys
        whole = max(1, keys // step)
        if not self._block.problem.skips_keys:
            return number(whole), whole < -(-keys // step)
        seen = self._fewest(tile) / step
        return seen.minimum(whole).minimum(tile.steps).maximum(1), True

    def _fewest(self, tile: QueryTile) -> Scalar:
        """Keys that the warpgroup's first query sees, not negative."""
        offset = (self._block.problem.op.causal_offset or 0) + 1
        first = tile.first + (self._group * GROUP_ROWS).cast("int32")
        return (first + offset).maximum(0)

    def _masked_first(self, tile: QueryTile, flow: Flow) -> Flow:
        """Hide scores of the first step where not all of its keys are seen."""
        problem, step = self._block.problem, self._plan.keys
        zero = number(0)
        if self._has_masks:
            return replace(
                flow, scores=self._masked(tile, problem.sizes[3] < step, zero, flow.scores)
            )
        if problem.skips_keys:
            is_partial = self._fewest(tile).minimum(problem.sizes[3]) < step
            scores = replaced_when(
                is_partial, flow.scores, lambda values: self._hidden(tile, zero, values)
            )
            return replace(flow, scores=scores)
        if problem.sizes[3] < step:
            return replace(flow, scores=self._hidden(tile, zero, flow.scores))
        return flow

    def _hidden(self, tile: QueryTile, step: Scalar, scores: Registers) -> Registers:
        problem, keys = self._block.problem, self._block.problem.sizes[3]
        column = ((self._lane & 3) << 1).cast("int32") + step * self._plan.keys
        found = list(scores)
        for row in (0, 1):
            limit = number(keys)
            if problem.skips_keys:
                offset = (problem.op.causal_offset or 0) + 1 + 8 * row
                limit = (self._first_row(tile) + offset).minimum(keys)
            left = limit - column
            for i in range(len(scores)):
                if i // 2 % 2 == row:
                    is_seen = left > (i // 4 * 8 + i % 2)
                    found[i] = is_seen.select(scores[i], real(float("-inf")))
        return found

    def _masked(
        self, tile: QueryTile, is_ragged: bool, step: Scalar, scores: Registers
    ) -> Registers:
        """Apply the masks of a step, which are read from memory."""
        keys = self._plan.keys
        pair = ((self._lane & 3) << 1).cast("int32")
        ahead = tuple(8 * j + e for j in range(keys // 8) for e in (0, 1))
        layout = FragmentLayout(
            (self._lane >> 2).cast("int32"), (0, 8), pair, ahead, pair, (), 2, 4
        )
        row = self._first_row(tile)
        masks = WarpMasks(self._block.problem, tile.outer, layout, row, keys, is_ragged, bounded)
        first = step * keys
        rows = masks.apply(rows_of(scores), masks.read(first + pair), first + pair, first)
        return [rows[i // 2 % 2][i // 4 * 2 + i % 2] for i in range(len(scores))]
