# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in f32 by fused multiply-adds, for any shape, stride and alignment.

A block computes a tile of the output, each thread 8 by 8 or more of its elements, which stay in
registers. Parts of both factors pass through shared memory in a ring of stages: while threads
multiply one, copies bring the ones behind it (`cp.async`). The threads of a warp read the factors
so that two neighbours share every word of either: then a load of 16 bytes by all of them takes two
cycles of shared memory in place of four, half of what the multiply-adds take. A step's elements are
read while those of the step before are multiplied, also from one part to the next.

A convolution is a contraction like any other here, padding is read as zeros, and where there are
few tiles the blocks of a cluster share the reduction of each, and add their sums in a fixed order.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.contraction.fma_copies import FmaCopies
from xyntra.passes.lower.cuda.contraction.fma_plan import FmaPlan
from xyntra.passes.lower.cuda.contraction.fma_result import FmaResult
from xyntra.passes.lower.cuda.contraction.fma_threads import first_place, winding
from xyntra.passes.lower.cuda.contraction.fma_tiles import DEPTH, VECTOR, part_bytes, pitch
from xyntra.passes.lower.cuda.contraction.mma_instructions import (
    commit_copies,
    load_vector,
    wait_for_copies,
)
from xyntra.passes.lower.cuda.contraction.mma_place import (
    launch_of,
    place_of_block,
    shared_address,
    unless_zero,
)
from xyntra.passes.lower.cuda.contraction.place import Place
from xyntra.passes.lower.cuda.shared_memory import SharedMemory
from xyntra.passes.lower.cuda.thread_grid import (
    LaunchShape,
    barrier,
    i32,
)
from xyntra.passes.lower.nests.epilogue import Epilogue

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
    block = _Block.placed(plan, shared_address(shared.dynamic()))
    sums = block.sums()
    start, tile = unless_zero(initial), plan.tile
    result = FmaResult(plan.nest, plan.roles, epilogue, start, tile.result, block.shared, tile)
    result.write(block.place, block.corner, sums)
    return launch_of(plan.nest, plan.roles, tile, plan.resident)


@dataclass(frozen=True)
class _Block:
    """What one block computes; `corner` is the thread's first row and column of the tile."""

    plan: FmaPlan
    shared: ir.Value
    place: Place
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

    def sums(self) -> list[ir.Value]:
        """Emit the reduction; returns the thread's sums, row by row."""
        tile = self.plan.tile
        first, end = self._slice()
        self._begin(first, end)
        wait_for_copies(tile.stages - 2)
        barrier()
        zeros = [_zero()] * (tile.own_rows * tile.own_columns)
        ahead = i32((tile.stages - 1) * tile.stage_bytes)
        loop = scf.ForOp(first, end, i32(1), [*zeros, self.shared, arith.addi(self.shared, ahead)])
        with ir.InsertionPoint(loop.body):
            *totals, reading, writing = list(loop.inner_iter_args)
            part = arith.addi(loop.induction_variable, i32(tile.stages - 1))
            factors = self._read(reading, 0)
            for step in range(1, DEPTH):
                if step == _COPY_STEP:
                    self._copy(writing, part, _is_less(part, end), first=False)
                    commit_copies()
                ready = self._read(reading, step)
                totals, factors = self._multiply(totals, factors), ready
            wait_for_copies(tile.stages - 2)
            barrier()  # the next part has come, and this one has been read by all
            totals = self._multiply(totals, factors)
            scf.YieldOp([*totals, self._next(reading), self._next(writing)])
        wait_for_copies(0)
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
            commit_copies()

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

    def _read(self, stage: ir.Value, step: int) -> list[ir.Value]:
        """Load what the thread multiplies in a step: of its rows, then of its columns."""
        tile, (row, column) = self.plan.tile, self.corner
        ways = (
            (row, 0, tile.rows, tile.own_rows, tile.lane_rows),
            (column, part_bytes(tile.rows), tile.columns, tile.own_columns, tile.lane_columns),
        )
        values: list[ir.Value] = []
        for own, behind, width, count, lanes in ways:
            base = arith.addi(stage, arith.muli(own, i32(4)))
            for group in range(count // VECTOR):
                place = behind + 4 * (step * pitch(width) + group * lanes * VECTOR)
                address = arith.addi(base, i32(place))
                values += _lanes(load_vector(address, VECTOR, ir.F32Type.get()))
        return values

    def _multiply(self, sums: Sequence[ir.Value], factors: Sequence[ir.Value]) -> list[ir.Value]:
        tile, totals = self.plan.tile, list(sums)
        lefts, rights = factors[: tile.own_rows], factors[tile.own_rows :]
        for row, column in winding(tile.own_rows, tile.own_columns):
            place = row * tile.own_columns + column
            total = totals[place]
            totals[place] = emit("math.fma", [lefts[row], rights[column], total], total.type)
        return totals


def _lanes(vector: ir.Value) -> list[ir.Value]:
    place = ir.DenseI64ArrayAttr.get
    element = ir.VectorType(vector.type).element_type
    return [
        emit("vector.extract", [vector], element, static_position=place([number]))
        for number in range(VECTOR)
    ]


def _is_less(part: ir.Value, end: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, part, end)


def _zero() -> ir.Value:
    f32 = ir.F32Type.get()
    return emit("arith.constant", [], f32, value=ir.FloatAttr.get(f32, 0.0))
