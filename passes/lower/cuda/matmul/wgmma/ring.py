# SPDX-License-Identifier: MIT OR Apache-2.0
"""The ring of stages in shared memory through which factors come to warpgroups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import SWIZZLE, WARPGROUP, Tile
from xyntra.passes.lower.cuda.ptx.barriers import (
    fence_mbarrier_init,
    mbarrier_arrive,
    mbarrier_init,
    mbarrier_wait_parity,
)
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.emit.thread_grid import i32, when

_BARRIER = 8  # bytes


@dataclass(frozen=True)
class Ring:
    """Stages, each with a barrier that counts what arrives, and one for the warps that have read.

    The left factor's parts of all stages come first, then the right one's.

    Attributes:
        memory: address of the block's shared memory, where the ring starts, an i32.
        stages: how many.
        tile: what the block computes at a time.
        barriers: bytes from `memory` to the barriers.
    """

    memory: ir.Value
    stages: int
    tile: Tile
    barriers: int

    @property
    def nbytes(self) -> int:
        """The bytes of the stages."""
        return self.stages * self.tile.stage_bytes

    @property
    def barrier_bytes(self) -> int:
        """The bytes of the barriers, those of ping-pong consumers at the end."""
        return 2 * _BARRIER * self.stages + 2 * _BARRIER * self.tile.turns

    def prepare(self) -> None:
        """Initialise the barriers, as one thread."""
        readers = 1 if self.tile.turns else self.tile.consumers
        warps = readers * WARPGROUP // WARP
        for stage in range(self.stages):
            mbarrier_init(self.full(i32(stage)), 1)
            mbarrier_init(self.empty(i32(stage)), warps)
        for consumer in range(2 * self.tile.turns):
            mbarrier_init(self._turn(i32(consumer)), WARPGROUP // WARP)
        fence_mbarrier_init()

    def part(self, factor: int, stage: ir.Value) -> ir.Value:
        """Return the address of the left (0) or right (1) factor's part of a stage, an i32."""
        rights = self.stages * self.tile.rows * SWIZZLE
        width = self.tile.columns if factor else self.tile.rows
        return self._at(factor * rights, stage, width * SWIZZLE)

    def full(self, stage: ir.Value) -> ir.Value:
        """Return the address of the mbarrier that counts the bytes of a stage."""
        return self._at(self.barriers, stage, _BARRIER)

    def empty(self, stage: ir.Value) -> ir.Value:
        """Return the address of the mbarrier that counts the warps which have read a stage."""
        return self._at(self.barriers + _BARRIER * self.stages, stage, _BARRIER)

    def following(self, stage: ir.Value, parity: ir.Value) -> list[ir.Value]:
        """Return the stage behind this one, and the parity of its phase."""
        after = arith.addi(stage, i32(1))
        wraps = arith.cmpi(arith.CmpIPredicate.eq, after, i32(self.stages))
        return [
            arith.select(wraps, i32(0), after),
            arith.select(wraps, arith.xori(parity, i32(1)), parity),
        ]

    def release(self, stage: ir.Value, lane: ir.Value) -> None:
        """Say, as `lane` of a warp, that the warp has read a stage."""
        _arrive(self.empty(stage), lane)

    def wait_for_turn(self, consumer: ir.Value, parity: ir.Value) -> None:
        """Wait, as a consumer, until the other one has got all stages of its tile.

        It must not look out for its own earlier: parities tell a phase from the next one alone.
        """
        mbarrier_wait_parity(self._turn(consumer), parity)

    def pass_turn(self, consumer: ir.Value, lane: ir.Value) -> None:
        """Say, as `lane` of a warp, that a consumer has got all stages of its tile."""
        _arrive(self._turn(arith.xori(consumer, i32(1))), lane)

    def _turn(self, consumer: ir.Value) -> ir.Value:
        return self._at(self.barriers + 2 * _BARRIER * self.stages, consumer, _BARRIER)

    def ahead(self, stage: ir.Value, parity: ir.Value, steps: ir.Value) -> list[ir.Value]:
        """Return stage and parity so many steps, an i32, behind these."""
        total = arith.addi(stage, steps)
        rounds = arith.divui(total, i32(self.stages))
        turned = arith.xori(parity, arith.andi(rounds, i32(1)))
        return [arith.remui(total, i32(self.stages)), turned]

    def _at(self, start: int, number: ir.Value, nbytes: int) -> ir.Value:
        """Return the address of item `number` of `nbytes` each, behind byte `start`."""
        place = arith.addi(i32(start), arith.muli(number, i32(nbytes)))
        return arith.addi(self.memory, place)


def _arrive(at: ir.Value, lane: ir.Value) -> None:
    with when(arith.cmpi(arith.CmpIPredicate.eq, lane, i32(0))):
        mbarrier_arrive(at)


def rolled(first: ir.Value, end: ir.Value, carried: Sequence[ir.Value]) -> scf.ForOp:
    """Return a loop that is not unrolled: what is in flight must end where it began."""
    loop = scf.ForOp(first, end, i32(1), list(carried))
    loop.operation.attributes["llvm.loop_annotation"] = ir.Attribute.parse(
        "#llvm.loop_annotation<unroll = <disable = true>>"
    )
    return loop
