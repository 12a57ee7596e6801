# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread that brings queries, keys and values of a block's tiles into shared memory."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.hopper.block import HopperBlock, QueryTile, RingPosition
from xyntra.passes.lower.cuda.attention.hopper.instructions import ROW_BYTES, wait_for_phase
from xyntra.passes.lower.cuda.attention.hopper.plan import CHUNK, GROUP_ROWS
from xyntra.passes.lower.cuda.ptx.barriers import mbarrier_arrive_expect_tx_asm
from xyntra.passes.lower.cuda.ptx.tma import cp_async_bulk_tensor_load_asm, tensormap_address
from xyntra.passes.lower.gpu.attention.problem import Located
from xyntra.passes.lower.gpu.attention.values import Registers, loop, number, values_of


@dataclass(frozen=True)
class KeyValueProducer:
    """Copies ahead of the warpgroups, as far as there are empty slots."""

    block: HopperBlock

    def run(self) -> None:
        """Emit the loop over the block's tiles."""
        plan = self.block.plan
        keys, values = RingPosition.first(plan.key_slots), RingPosition.first(plan.value_slots)

        order = self.block.order
        start = order.start()

        def body(turn: Scalar, carried: Registers) -> Registers:
            number_ = turn.cast("uint32")
            following = order.tile(start, number_ + 1)
            rings = (
                RingPosition(plan.key_slots, *carried[:2]),
                RingPosition(plan.value_slots, *carried[2:4]),
            )
            return [*self._tile(self.block.tile(carried[4]), number_, *rings), following]

        first = order.tile(start, number(0, "uint32"))
        loop(order.count(), [*keys.registers, *values.registers, first], body)

    def _tile(
        self, tile: QueryTile, turn: Scalar, keys: RingPosition, values: RingPosition
    ) -> Registers:
        last = tile.steps - 1
        keys = self._keys(tile, last, keys)
        for group in range(self.block.plan.groups):
            self._queries(tile, turn, group)

        def body(step: Scalar, carried: Registers) -> Registers:
            ring = RingPosition(keys.slots, *carried[:2])
            ring = self._keys(tile, last - 1 - step, ring)
            other = RingPosition(values.slots, *carried[2:])
            other = self._values(tile, last - step, other)
            return [*ring.registers, *other.registers]

        carried = loop(last, [*keys.registers, *values.registers], body)
        values = self._values(tile, number(0), RingPosition(values.slots, *carried[2:]))
        return [*carried[:2], *values.registers]

    def _keys(self, tile: QueryTile, step: Scalar, ring: RingPosition) -> RingPosition:
        plan, barriers = self.block.plan, self.block.barriers
        wait_for_phase(barriers.key(ring.slot, full=False), ring.phase ^ 1)
        full = barriers.key(ring.slot, full=True)
        mbarrier_arrive_expect_tx_asm(full.value, plan.key_bytes)
        target = self.block.shared + ring.slot * plan.key_bytes + plan.key_start
        row = step * plan.keys
        box = (target, plan.keys, plan.key_chunks)
        self._copy(1, tile, self.block.problem.key, box, row, full)
        return ring.next()

    def _values(self, tile: QueryTile, step: Scalar, ring: RingPosition) -> RingPosition:
        plan, barriers = self.block.plan, self.block.barriers
        wait_for_phase(barriers.value(ring.slot, full=False), ring.phase ^ 1)
        full = barriers.value(ring.slot, full=True)
        mbarrier_arrive_expect_tx_asm(full.value, plan.value_bytes)
        target = self.block.shared + ring.slot * plan.value_bytes + plan.value_start
        row = step * plan.keys
        self._copy(
            2, tile, self.block.problem.value, (target, plan.keys, plan.value_chunks), row, full
        )
        return ring.next()

    def _queries(self, tile: QueryTile, turn: Scalar, group: int) -> None:
        plan, barriers = self.block.plan, self.block.barriers
        ring = RingPosition.at(plan.query_slots, turn)
        number_ = number(group, "uint32")
        wait_for_phase(barriers.query(number_, ring.slot, full=False), ring.phase ^ 1)
        full = barriers.query(number_, ring.slot, full=True)
        mbarrier_arrive_expect_tx_asm(full.value, plan.query_bytes)
        place = ring.slot + group * plan.query_slots
        target = self.block.shared + place * plan.query_bytes
        row = tile.first + GROUP_ROWS * group
        box = (target, GROUP_ROWS, plan.key_chunks)
        self._copy(0, tile, self.block.problem.query, box, row, full)

    def _copy(
        self,
        map_: int,
        tile: QueryTile,
        operand: Located,
        box: tuple[Scalar, int, int],
        row: Scalar,
        full: Scalar,
    ) -> None:
        """Copy rows of an operand to shared memory, 64 columns behind 64 columns."""
        target, rows, chunks = box
        tensor = self.block.maps[map_]
        heads = [
            (tile.outer[digit.loop].cast("uint32") / digit.divisor % digit.extent).cast("int32")
            for digit, _ in operand.matrix.outer
        ]
        for chunk in range(chunks):
            place = target + chunk * rows * ROW_BYTES if chunk else target
            corner = values_of([number(chunk * CHUNK), row, *heads])
            address = tensormap_address(tensor)
            cp_async_bulk_tensor_load_asm(place.value, address, corner, full.value)
