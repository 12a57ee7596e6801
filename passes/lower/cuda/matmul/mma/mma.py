# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions on tensor cores by `mma.sync`, for any shape, stride and alignment (from sm_80 on).

A block computes a tile of the output. Parts of both factors, 128 bytes of every row, go through
shared memory in a ring of stages: while warps multiply one stage, copies bring the ones behind it
(`cp.async`). A convolution on channels-last tensors is a contraction like any other here: its rows
are output positions, its steps taps and channels, and every address is the sum of a row's and a
step's. Where there are few tiles, the blocks of a cluster share the reduction of each, and add
their accumulators in a fixed order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.matmul.mma.copies import MmaCopies
from xyntra.passes.lower.cuda.matmul.mma.fragments import MmaFragments
from xyntra.passes.lower.cuda.matmul.mma.kind import STEP_BYTES, MmaKind
from xyntra.passes.lower.cuda.matmul.mma.plan import MmaPlan
from xyntra.passes.lower.cuda.matmul.mma.result import MmaResult
from xyntra.passes.lower.cuda.matmul.mma.tiles import ROW_BYTES
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.matmul.tile_place import launch_of, place_of_block, unless_zero
from xyntra.passes.lower.cuda.ptx.copies import cp_async_commit_group, cp_async_wait_group
from xyntra.passes.lower.cuda.ptx.launches import (
    griddepcontrol_launch_dependents,
    griddepcontrol_wait,
)
from xyntra.passes.lower.cuda.ptx.matrices import mma
from xyntra.passes.lower.cuda.ptx.memory import shared_address
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import LaunchShape, barrier, i32, thread_number, when
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.roles import size


def emit_mma(
    plan: MmaPlan, group: ContractionGroup, shared: SharedMemory, *, overlaps: bool
) -> LaunchShape:
    """Emit a contraction for a launch of the returned shape.

    Args:
        plan: how it is computed.
        group: the contraction, and what follows it.
        shared: where parts of the factors are kept.
        overlaps: weights are brought before the launch ahead has ended.
    """
    block = _Block.placed(plan, shared_address(dynamic_memory(shared)))
    table, tile = None, plan.tile
    if group.values is not None:
        start = arith.addi(block.shared, i32(tile.shared_bytes))
        table = RowTable(group.values, start, tile.rows)

    def fill_table() -> None:
        if table is not None:
            table.fill(block.place.row, i32(0), tile.rows, tile.threads)

    accumulators = block.accumulators(fill_table, overlaps=overlaps)
    result = MmaResult(
        plan.nest,
        plan.roles,
        group.epilogue,
        unless_zero(group.initial),
        tile,
        block.shared,
        table=table,
        partials=group.partials,
    )
    result.write(block.place, block.corner, accumulators)
    launch = launch_of(plan.nest, plan.roles, tile)
    more = 0 if table is None else table.values.table_bytes(tile.rows)
    return replace(launch, shared=launch.shared + more)


@dataclass(frozen=True)
class _Block:
    """Emitter of one block."""

    plan: MmaPlan
    shared: ir.Value
    place: TilePosition
    corner: tuple[ir.Value, ir.Value]
    copies: tuple[MmaCopies, MmaCopies]

    @classmethod
    def placed(cls, plan: MmaPlan, shared: ir.Value) -> _Block:
        tile = plan.tile
        place, batch = place_of_block(plan.nest, plan.roles, tile)
        warp = arith.divui(thread_number(), i32(WARP))
        corner = (
            arith.muli(arith.remui(warp, i32(tile.warp_rows)), i32(tile.own_rows)),
            arith.muli(arith.divui(warp, i32(tile.warp_rows)), i32(tile.own_columns)),
        )
        copies = (
            MmaCopies.of(plan.left, tile.threads, batch, place.row),
            MmaCopies.of(plan.right, tile.threads, batch, place.column),
        )
        return cls(plan, shared, place, corner, copies)

    def accumulators(self, meanwhile: Callable[[], None], *, overlaps: bool) -> list[ir.Value]:
        """Emit the reduction; returns the thread's fragments.

        Args:
            meanwhile: emits what is done while the first parts are on their way.
            overlaps: weights are brought before the launch ahead has ended.
        """
        tile = self.plan.tile
        first, end = self._slice()
        ahead = tile.stages - 1
        late = list(self.copies)
        if overlaps:
            early = [each for each in self.copies if each.is_early]
            late = [each for each in self.copies if not each.is_early]
            self._begin(first, end, early, commits=False)
            griddepcontrol_launch_dependents()
            griddepcontrol_wait()
        self._begin(first, end, late, commits=True)
        meanwhile()
        count = tile.own_rows * tile.own_columns // WARP
        zeros = [_zero(self.plan.kind)] * count
        ring = [i32(0), i32(ahead * tile.stage_bytes)]
        loop = scf.ForOp(first, end, i32(1), [*zeros, *ring])
        with ir.InsertionPoint(loop.body):
            *totals, reading, writing = list(loop.inner_iter_args)
            cp_async_wait_group(tile.stages - 2)
            barrier()
            part = arith.addi(loop.induction_variable, i32(ahead))
            self._copy_ahead(part, end, writing)
            totals = self._multiply(totals, reading)
            self._move_ahead(part, end, writing)
            scf.YieldOp([*totals, self._next(reading), self._next(writing)])
        cp_async_wait_group(0)
        return list(loop.results)[:count]

    def _begin(
        self, first: ir.Value, end: ir.Value, wanted: Sequence[MmaCopies], *, commits: bool
    ) -> None:
        """Bring the first parts of some factors into all stages but one."""
        for number in range(self.plan.tile.stages - 1):
            part = arith.addi(first, i32(number))
            stage = i32(number * self.plan.tile.stage_bytes)
            present = nullcontext() if number < self._least else when(_is_less(part, end))
            with present:
                self._bring(part, stage, wanted, moves=True)
            if commits:
                cp_async_commit_group()

    @property
    def _parts(self) -> int:
        return -(-size(self.plan.nest, self.plan.roles.reductions) // self.plan.left.depth)

    @property
    def _least(self) -> int:
        """Parts that every block has at least."""
        most = -(-self._parts // self.plan.tile.split)
        return self._parts - most * (self.plan.tile.split - 1)

    def _slice(self) -> tuple[ir.Value, ir.Value]:
        """Return the first of the block's parts, and the first behind them."""
        rank, each = self.place.rank, -(-self._parts // self.plan.tile.split)
        if rank is None:
            return i32(0), i32(self._parts)
        first = arith.muli(rank, i32(each))
        return first, arith.minsi(arith.addi(first, i32(each)), i32(self._parts))

    def _next(self, stage: ir.Value) -> ir.Value:
        tile = self.plan.tile
        following = arith.addi(stage, i32(tile.stage_bytes))
        is_end = arith.cmpi(arith.CmpIPredicate.eq, following, i32(tile.stages * tile.stage_bytes))
        return arith.select(is_end, i32(0), following)

    def _copy_ahead(self, part: ir.Value, end: ir.Value, stage: ir.Value) -> None:
        if any(each.factor.is_copied for each in self.copies):
            with when(_is_less(part, end)):
                self._bring(part, stage, self.copies, moves=False)
        cp_async_commit_group()

    def _move_ahead(self, part: ir.Value, end: ir.Value, stage: ir.Value) -> None:
        if all(each.factor.is_copied for each in self.copies):
            return
        with when(_is_less(part, end)):
            step = arith.muli(part, i32(self.plan.left.depth))
            for copies, target in zip(self.copies, self._places(stage), strict=True):
                if not copies.factor.is_copied:
                    copies.move(target, step)

    def _bring(
        self, part: ir.Value, stage: ir.Value, wanted: Sequence[MmaCopies], *, moves: bool
    ) -> None:
        step = arith.muli(part, i32(self.plan.left.depth))
        for copies, target in zip(self.copies, self._places(stage), strict=True):
            if not any(copies is each for each in wanted):
                continue
            if copies.factor.is_copied:
                copies.copy(target, step)
            elif moves:
                copies.move(target, step)

    def _places(self, stage: ir.Value) -> tuple[ir.Value, ir.Value]:
        """Return where both factors' parts of a stage are."""
        left = arith.addi(self.shared, stage)
        return left, arith.addi(left, i32(self.plan.tile.rows * ROW_BYTES))

    def _multiply(self, accumulators: Sequence[ir.Value], stage: ir.Value) -> list[ir.Value]:
        tile, places = self.plan.tile, self._places(stage)
        left = MmaFragments(self.plan.left, True, self.corner[0], tile.own_rows // 16)
        right = MmaFragments(self.plan.right, False, self.corner[1], tile.own_columns // 16)
        totals, kind = list(accumulators), self.plan.kind
        for number in range(ROW_BYTES // STEP_BYTES):
            lefts, rights = left.read(places[0], number), right.read(places[1], number)
            pairs = [(one, other) for one in lefts for other in rights]
            for place, (one, other) in enumerate(pairs):
                own = slice(4 * place, 4 * place + 4)
                totals[own] = mma(one, other, totals[own], kind.shape, kind.types)
        return totals


def _is_less(part: ir.Value, end: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, part, end)


def _zero(kind: MmaKind) -> ir.Value:
    if kind.is_integer:
        return i32(0)
    f32 = ir.F32Type.get()
    return emit("arith.constant", [], f32, value=ir.FloatAttr.get(f32, 0.0))
