# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in f32 by fused multiply-adds, for any shape, stride and alignment.

A block computes a tile of the output, each thread 8 by 8 or more of its elements, which stay in
registers. Parts of both factors pass through shared memory in a ring of stages: while threads
multiply one, copies bring the ones behind it (`cp.async`). The threads of a warp read the factors
so that two neighbours share every word of either: then a load of 16 bytes by all of them takes two
cycles of shared memory in place of four, half of what the multiply-adds take. A step's elements are
read while those of the step before are multiplied, also from one part to the next.

A convolution is a contraction like any other here, padding is read as zeros, and where there are
few tiles the blocks of a cluster share the reduction of each, and add their accumulators in a fixed
order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.matmul.fma.copies import FmaCopies
from xyntra.passes.lower.cuda.matmul.fma.plan import FmaPlan
from xyntra.passes.lower.cuda.matmul.fma.reads import FmaReads
from xyntra.passes.lower.cuda.matmul.fma.result import FmaResult
from xyntra.passes.lower.cuda.matmul.fma.threads import first_place, winding
from xyntra.passes.lower.cuda.matmul.fma.tiles import DEPTH, VECTOR, part_bytes
from xyntra.passes.lower.cuda.matmul.tile_place import launch_of, place_of_block, unless_zero
from xyntra.passes.lower.cuda.ptx.copies import cp_async_commit_group, cp_async_wait_group
from xyntra.passes.lower.cuda.ptx.memory import shared_address
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    barrier,
    i32,
)
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.kernels.epilogue import Epilogue

_COPY_STEP = 6
"""The step in front of which a part's copies begin: behind them the assembler orders the
multiply-adds as they are here; where copies come first, eight percent of them wait for registers.
"""


def emit_fma(
    plan: FmaPlan, initial: ir.Value, epilogue: Epilogue | None, shared: SharedMemory
) -> LaunchShape:
    """Emit a contraction for a launch of the returned shape.

    Args:
        plan: how it is computed.
        initial: what every element of the output starts from.
        epilogue: what happens to each element before it is stored, if anything.
        shared: where parts of the factors are kept.
    """
    block = _Block.placed(plan, shared_address(dynamic_memory(shared)))
    accumulators = block.accumulators()
    start, tile = unless_zero(initial), plan.tile
    result = FmaResult(plan.nest, plan.roles, epilogue, start, tile.result, block.shared, tile)
    result.write(block.place, block.corner, accumulators)
    return launch_of(plan.nest, plan.roles, tile, plan.resident)


@dataclass(frozen=True)
class _Block:
    """Emitter of one block; `corner` is the thread's first row and column of the tile."""

    plan: FmaPlan
    shared: ir.Value
    place: TilePosition
    corner: tuple[ir.Value, ir.Value]
    copies: tuple[FmaCopies, FmaCopies]

    @classmethod
    def placed(cls, plan: FmaPlan, shared: ir.Value) -> _Block:
        tile = plan.tile
        place, batch = place_of_block(plan.nest, plan.roles, tile)
        copies = (
            FmaCopies.of(plan.left, tile.threads, batch, place.row),
            FmaCopies.of(plan.right, tile.threads, batch, place.column),
        )
        return cls(plan, shared, place, first_place(tile), copies)

    def accumulators(self) -> list[ir.Value]:
        """Emit the reduction; returns the thread's accumulators, row by row."""
        tile = self.plan.tile
        first, end = self._slice()
        self._begin(first, end)
        cp_async_wait_group(tile.stages - 2)
        barrier()
        zeros = [_zero()] * (tile.own_rows * tile.own_columns)
        ahead = i32((tile.stages - 1) * tile.stage_bytes)
        loop = scf.ForOp(first, end, i32(1), [*zeros, self.shared, arith.addi(self.shared, ahead)])
        with ir.InsertionPoint(loop.body):
            *totals, reading, writing = list(loop.inner_iter_args)
            part = arith.addi(loop.induction_variable, i32(tile.stages - 1))
            held = [each.first_values(reading) for each in self.reads]
            for step in range(1, DEPTH):
                if step == _COPY_STEP:
                    self._copy(writing, part, _is_less(part, end), first=False)
                    cp_async_commit_group()
                ready = [
                    old if each.factor.is_deep else each.step(reading, step)
                    for each, old in zip(self.reads, held, strict=True)
                ]
                totals = self._multiply(totals, held, step - 1, reading)
                held = ready
            cp_async_wait_group(tile.stages - 2)
            barrier()  # the next part has come, and this one has been read by all
            totals = self._multiply(totals, held, DEPTH - 1, reading)
            scf.YieldOp([*totals, self._next(reading), self._next(writing)])
        cp_async_wait_group(0)
        return list(loop.results)[: len(zeros)]

    def _begin(self, first: ir.Value, end: ir.Value) -> None:
        """Begin to bring the first parts into all stages but one."""
        tile = self.plan.tile
        least = self.plan.parts // tile.split  # parts that every block has
        for number in range(tile.stages - 1):
            part = arith.addi(first, i32(number))
            stage = arith.addi(self.shared, i32(number * tile.stage_bytes))
            wanted = None if number < least else _is_less(part, end)
            self._copy(stage, part, wanted, first=number == 0)
            cp_async_commit_group()

    def _copy(
        self, stage: ir.Value, part: ir.Value, wanted: ir.Value | None, *, first: bool
    ) -> None:
        left, right = self.copies
        left.copy(stage, part, wanted, first=first)
        behind = arith.addi(stage, i32(part_bytes(self.plan.tile.rows)))
        right.copy(behind, part, wanted, first=first)

    def _slice(self) -> tuple[ir.Value, ir.Value]:
        """Return the first of the block's parts, and the first behind them."""
        rank, parts, split = self.place.rank, self.plan.parts, self.plan.tile.split
        if rank is None:
            return i32(0), i32(parts)
        ends = (arith.muli(each, i32(parts)) for each in (rank, arith.addi(rank, i32(1))))
        first, end = (arith.divui(each, i32(split)) for each in ends)
        return first, end

    def _next(self, stage: ir.Value) -> ir.Value:
        tile = self.plan.tile
        following = arith.addi(stage, i32(tile.stage_bytes))
        last = arith.addi(self.shared, i32(tile.stages * tile.stage_bytes))
        is_end = arith.cmpi(arith.CmpIPredicate.eq, following, last)
        return arith.select(is_end, self.shared, following)

    @property
    def reads(self) -> tuple[FmaReads, FmaReads]:
        """Return what the thread reads of both factors."""
        tile, plan, (row, column) = self.plan.tile, self.plan, self.corner
        behind = part_bytes(tile.rows)
        return (
            FmaReads(plan.left, row, 0, tile.own_rows, tile.lane_rows),
            FmaReads(plan.right, column, behind, tile.own_columns, tile.lane_columns),
        )

    def _multiply(
        self,
        accumulators: Sequence[ir.Value],
        held: Sequence[list[ir.Value]],
        step: int,
        stage: ir.Value,
    ) -> list[ir.Value]:
        """Add the products of a step; fours of steps of `held` are replaced after their last."""
        tile, totals = self.plan.tile, list(accumulators)
        both = [each.values(old, step) for each, old in zip(self.reads, held, strict=True)]
        following = step + 1 if (step + 1) % VECTOR == 0 and step + 1 < DEPTH else None
        places = winding(tile.own_rows, tile.own_columns)
        for number, (row, column) in enumerate(places):
            place = row * tile.own_columns + column
            total = totals[place]
            factors = [both[0][row], both[1][column], total]
            totals[place] = emit("math.fma", factors, total.type)
            if following is not None and (number + 1) % VECTOR**2 == 0:
                self._replace(held, stage, following, places[number:])
        return totals

    def _replace(
        self,
        held: Sequence[list[ir.Value]],
        stage: ir.Value,
        step: int,
        places: Sequence[tuple[int, int]],
    ) -> None:
        """Load four steps of what is multiplied at the first of `places`, and not behind it."""
        for side, (reads, values) in enumerate(zip(self.reads, held, strict=True)):
            group = places[0][side] // VECTOR * VECTOR
            is_last = all(place[side] // VECTOR * VECTOR != group for place in places[1:])
            if reads.factor.is_deep and is_last:
                values[group : group + VECTOR] = reads.quad(stage, step, group)


def _is_less(part: ir.Value, end: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, part, end)


def _zero() -> ir.Value:
    f32 = ir.F32Type.get()
    return emit("arith.constant", [], f32, value=ir.FloatAttr.get(f32, 0.0))
