# SPDX-License-Identifier: MIT OR Apache-2.0
"""Holds what the warps of a Hopper attention block share: tile order, ring slots, mbarriers."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.hopper.order import QueryTileOrder
from xyntra.passes.lower.cuda.attention.hopper.plan import HopperPlan
from xyntra.passes.lower.cuda.ptx.barriers import fence_mbarrier_init_asm, mbarrier_init_asm
from xyntra.passes.lower.gpu.attention.problem import Outer, Problem, outer_of
from xyntra.passes.lower.gpu.attention.values import Registers, number

_WARPS = 4  # of a warpgroup


@dataclass(frozen=True)
class RingPosition:
    """The place of one side in a ring of slots.

    Attributes:
        slots: how many there are.
        slot: the current one, uint32.
        phase: the parity of the round, uint32: 0 in the first.
    """

    slots: int
    slot: Scalar
    phase: Scalar

    @staticmethod
    def first(slots: int) -> RingPosition:
        """The first slot in the first round."""
        return RingPosition(slots, number(0, "uint32"), number(0, "uint32"))

    @staticmethod
    def at(slots: int, count: Scalar) -> RingPosition:
        """After `count` slots, a uint32; `slots` is a power of two."""
        shift = slots.bit_length() - 1
        return RingPosition(slots, count & (slots - 1), count >> shift & 1)

    @property
    def registers(self) -> Registers:
        """Both numbers."""
        return [self.slot, self.phase]

    def next(self) -> RingPosition:
        """The following slot."""
        following = self.slot + 1
        wraps = following.equals(self.slots)
        slot = wraps.select(number(0, "uint32"), following)
        return RingPosition(self.slots, slot, wraps.select(self.phase ^ 1, self.phase))


@dataclass(frozen=True)
class Barriers:
    """Addresses of the barriers: for every slot one that it is full, and one that it is empty."""

    plan: HopperPlan
    shared: Scalar

    def key(self, slot: Scalar, *, full: bool) -> Scalar:
        """The barrier of a tile of keys."""
        return self._at(0, self.plan.key_slots, slot, full)

    def value(self, slot: Scalar, *, full: bool) -> Scalar:
        """The barrier of a tile of values."""
        return self._at(2 * self.plan.key_slots, self.plan.value_slots, slot, full)

    def query(self, group: Scalar, slot: Scalar, *, full: bool) -> Scalar:
        """The barrier of the queries of a warpgroup."""
        plan = self.plan
        before = 2 * (plan.key_slots + plan.value_slots)
        place = group * plan.query_slots + slot
        return self._at(before, plan.groups * plan.query_slots, place, full)

    def begin(self) -> None:
        """Make all of them; one thread does."""
        plan = self.plan
        everyone = _WARPS * plan.groups
        counts = [1] * plan.key_slots + [everyone] * plan.key_slots
        counts += [1] * plan.value_slots + [everyone] * plan.value_slots
        queries = plan.groups * plan.query_slots
        counts += [1] * queries + [_WARPS] * queries
        for place, count in enumerate(counts):
            address = self.shared + (plan.barrier_start + 8 * place)
            mbarrier_init_asm(address.value, count)
        fence_mbarrier_init_asm()

    def _at(self, before: int, slots: int, slot: Scalar, full: bool) -> Scalar:
        first = before if full else before + slots
        return self.shared + slot * 8 + (self.plan.barrier_start + 8 * first)


@dataclass(frozen=True)
class QueryTile:
    """Queries of one head.

    Attributes:
        outer: the batch and the head.
        first: the first query, int32.
        steps: tiles of keys that its queries see, at least one, int32.
    """

    outer: Outer
    first: Scalar
    steps: Scalar


@dataclass(frozen=True)
class HopperBlock:
    """One block, which computes several tiles one after the other.

    Attributes:
        problem: the attention.
        plan: the sizes.
        order: of its tiles.
        shared: address of shared memory.
        maps: of queries, keys and values.
    """

    problem: Problem
    plan: HopperPlan
    order: QueryTileOrder
    shared: Scalar
    maps: tuple[ir.Value, ir.Value, ir.Value]

    @property
    def barriers(self) -> Barriers:
        """The block's barriers."""
        return Barriers(self.plan, self.shared)

    def tile(self, tile: Scalar) -> QueryTile:
        """Return what a tile is, whose number `QueryTileOrder` explains."""
        problem, plan = self.problem, self.plan
        _, h, _, t, _, _ = problem.sizes
        head, row = tile >> 16, tile & 0xFFFF
        first = (row * plan.rows).cast("int32")
        outer = outer_of((head / h).cast("int32"), (head % h).cast("int32"))
        return QueryTile(outer, first, self._steps(first, -(-t // plan.keys)))

    def _steps(self, first: Scalar, whole: int) -> Scalar:
        if not self.problem.skips_keys:
            return number(whole)
        seen = first + (self.plan.rows + (self.problem.op.causal_offset or 0))
        step = self.plan.keys
        return ((seen.maximum(1) + (step - 1)) / step).minimum(whole)
