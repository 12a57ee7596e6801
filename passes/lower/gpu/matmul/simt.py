# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions in every type, exactly as the scalar code says: tiles in registers of the threads.

Parts of both factors go through shared memory; while a block computes on one part, its threads
already load the next into registers (the scheme of Volkov and Demmel, "Benchmarking GPUs to Tune
Dense Linear Algebra", 2008, with the loads of the next part moved ahead).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.scalar_body import emit_on_scalars
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    as_i32,
    barrier,
    block_number,
    delinearize,
    i32,
    rolled_loop,
    thread_number,
)
from xyntra.passes.lower.gpu.matmul.place import TilePosition
from xyntra.passes.lower.gpu.matmul.result import Result
from xyntra.passes.lower.gpu.matmul.roles import Roles, extents, size
from xyntra.passes.lower.gpu.matmul.staging import Staging, Start
from xyntra.passes.lower.gpu.matmul.tile_shape import (
    SHAPES,
    VECTOR,
    TileShape,
    choose_shape,
    with_teams,
)
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import LinearNest
from xyntra.passes.lower.loops.loop_builder import Position

_UNROLLED = 4  # steps of the reduction
_LARGE_TILE = 64  # elements of a thread's tile, from which on longer code is faster code
_ROW, _COLUMN = -1, -2  # keys of a position: the number of the tile
Windows = Mapping[int, tuple[ImagePosition, ...]]


def emit_simt(
    nest: LinearNest,
    roles: Roles,
    initial: ir.Value,
    epilogue: Epilogue | None,
    shared: SharedMemory,
    shape: TileShape,
    device: GpuDevice,
    windows: Windows | None = None,
) -> LaunchShape:
    """Emit a contraction for a launch of the returned shape.

    Args:
        nest: the contraction; its body reads the two factors and scalars.
        roles: which of its loops are batch, M, N and K.
        initial: what every element of the output starts from.
        epilogue: what happens to each element before it is stored, if anything.
        shared: where parts of the factors are kept.
        shape: of the tiles.
        device: that the code is for.
        windows: by number of a factor, the dimensions in which it is read outside of its memory.
    """
    sizes = _sizes(nest, roles)
    tile = _Tile.placed(nest, roles, shape, shared, device, windows or {})
    accumulators = tile.accumulators(initial)
    buffer = shared.allocate(Result.elements(shape), initial.type)
    corner = TilePosition(tile.position, tile.first_row, tile.first_column)
    member = (tile.team, tile.thread)
    result = Result(nest, roles, epilogue, shape, *member, buffer, device.compact_code)
    result.write(corner, accumulators)
    return LaunchShape(shape.blocks(*sizes), shape.block)


def simt_shape(nest: LinearNest, roles: Roles, initial: ir.Value, device: GpuDevice) -> TileShape:
    """Return the shape of tiles that suits a contraction."""
    shape = choose_shape(device, *_sizes(nest, roles))
    return _in_teams(nest, roles, initial, shape, device)[-1]


def simt_shapes(
    nest: LinearNest, roles: Roles, initial: ir.Value, device: GpuDevice
) -> list[TileShape]:
    """Return every shape of tiles that can compute a contraction."""
    found = [_in_teams(nest, roles, initial, shape, device) for shape in SHAPES]
    return [each for shapes in found for each in shapes]


def _sizes(nest: LinearNest, roles: Roles) -> list[int]:
    return [size(nest, loops) for loops in (roles.rows, roles.columns, roles.batch)]


def _in_teams(
    nest: LinearNest, roles: Roles, initial: ir.Value, shape: TileShape, device: GpuDevice
) -> list[TileShape]:
    """Return a shape with one team, and with as many as there is room for."""
    if Combiner.of(nest) is None:
        return [shape]
    factors = [nest.inputs[each].value.type for each in (roles.left, roles.right)]
    elements = [initial.type, *(ir.MemRefType(each).element_type for each in factors)]
    widest = max(ITEM_BYTES[str(each)] for each in elements)
    steps, blocks = size(nest, roles.reductions), shape.blocks(*_sizes(nest, roles))
    return list(dict.fromkeys([shape, with_teams(shape, blocks, steps, widest, device)]))


@dataclass(frozen=True)
class _Tile:
    """One block's tile and one thread's part of it; numbers, rows and columns are i32s."""

    nest: LinearNest
    roles: Roles
    shape: TileShape
    team: ir.Value
    thread: ir.Value
    position: Position
    left: Staging
    right: Staging
    first_row: ir.Value
    first_column: ir.Value
    own_row: ir.Value
    own_column: ir.Value
    compact: bool
    unrolled: int = 0

    @classmethod
    def placed(
        cls,
        nest: LinearNest,
        roles: Roles,
        shape: TileShape,
        shared: SharedMemory,
        device: GpuDevice,
        windows: Windows,
    ) -> _Tile:
        down = -(-size(nest, roles.rows) // shape.rows)
        across = -(-size(nest, roles.columns) // shape.columns)
        grid = [*extents(nest, roles.batch), (_ROW, down), (_COLUMN, across)]
        place = delinearize(block_number(), grid)
        row, column = (as_i32(place.pop(key)) for key in (_ROW, _COLUMN))
        team, thread = i32(0), thread_number()
        if shape.teams > 1:
            size_of_team = i32(shape.threads)
            team, thread = arith.divui(thread, size_of_team), arith.remui(thread, size_of_team)
        member = (team, thread)
        how = (shape, member, shared, device.vector_memory, windows)
        threads = i32(shape.thread_grid[1])
        return cls(
            nest,
            roles,
            shape,
            team,
            thread,
            place,
            _staging(nest, roles, roles.left, roles.rows, shape.rows, *how),
            _staging(nest, roles, roles.right, roles.columns, shape.columns, *how),
            arith.muli(row, i32(shape.rows)),
            arith.muli(column, i32(shape.columns)),
            arith.muli(arith.divui(thread, threads), i32(VECTOR)),
            arith.muli(arith.remui(thread, threads), i32(VECTOR)),
            device.compact_code,
            device.unrolled_steps if shape.thread_rows * shape.thread_columns >= _LARGE_TILE else 0,
        )

    def accumulators(self, initial: ir.Value) -> list[list[ir.Value]]:
        """Emit the reduction and return the thread's results by row and column."""
        limit, depth = size(self.nest, self.roles.reductions), self.shape.depth
        starts = [
            self.left.starts(self.first_row, self.position),
            self.right.starts(self.first_column, self.position),
        ]
        carried = [self._start(initial)] * self._own
        parts = -(-limit // depth) // self.shape.teams
        rest = limit // self.shape.teams - (parts - 1) * depth
        if self.compact and parts > 1 and rest % _UNROLLED == 0:
            carried = self._all_parts(starts, carried, limit, parts)
        else:
            carried = self._parts_ahead(starts, carried, limit, parts)
        width = self.shape.thread_columns
        return [carried[start : start + width] for start in range(0, self._own, width)]

    @property
    def _own(self) -> int:
        """Elements of the result that are the thread's."""
        return self.shape.thread_rows * self.shape.thread_columns

    def _parts_ahead(
        self,
        starts: Sequence[Sequence[Start]],
        carried: Sequence[ir.Value],
        limit: int,
        parts: int,
    ) -> list[ir.Value]:
        """Combine with all parts of the reduction, the last of which is behind the loop."""
        own, depth = self._own, self.shape.depth
        first = arith.muli(self.team, i32(parts * depth))
        loaded = self._load(starts, first, limit)
        if parts > 1:
            loop = scf.ForOp(i32(1), i32(parts), i32(1), [*carried, *loaded])
            with ir.InsertionPoint(loop.body):
                inside = list(loop.inner_iter_args)
                self._keep(inside[own:])
                following = arith.muli(loop.induction_variable, i32(depth))
                following = arith.addi(first, following)
                ahead = self._load(starts, following, limit)
                scf.YieldOp([*self._multiply(inside[:own]), *ahead])
            carried, loaded = list(loop.results)[:own], list(loop.results)[own:]
        self._keep(loaded)
        return self._last(carried, limit // self.shape.teams - (parts - 1) * depth)

    def _all_parts(
        self,
        starts: Sequence[Sequence[Start]],
        carried: Sequence[ir.Value],
        limit: int,
        parts: int,
    ) -> list[ir.Value]:
        """Combine with all parts in one loop, whose last iteration loads its part once more."""
        own, depth = self._own, self.shape.depth
        first = arith.muli(self.team, i32(parts * depth))
        loop = scf.ForOp(i32(0), i32(parts), i32(1), [*carried, *self._load(starts, first, limit)])
        with ir.InsertionPoint(loop.body):
            inside = list(loop.inner_iter_args)
            self._keep(inside[own:])
            number = loop.induction_variable
            next_one = arith.minsi(arith.addi(number, i32(1)), i32(parts - 1))
            following = arith.addi(first, arith.muli(next_one, i32(depth)))
            ahead = self._load(starts, following, limit)
            count: int | ir.Value = depth
            if limit % depth:
                left = arith.subi(i32(limit), arith.muli(number, i32(depth)))
                count = arith.minsi(i32(depth), left)
            scf.YieldOp([*self._multiply(inside[:own], count), *ahead])
        return list(loop.results)[:own]

    def _start(self, initial: ir.Value) -> ir.Value:
        """Return what the team's accumulators start from: only the first team has `initial`."""
        combiner = Combiner.of(self.nest)
        if self.shape.teams == 1 or combiner is None:
            return initial
        is_first = arith.cmpi(arith.CmpIPredicate.eq, self.team, i32(0))
        return arith.select(is_first, initial, combiner.start())

    def _load(
        self, starts: Sequence[Sequence[Start]], step: ir.Value, limit: int
    ) -> list[ir.Value]:
        left, right = starts
        return [*self.left.load(left, step, limit), *self.right.load(right, step, limit)]

    def _keep(self, loaded: Sequence[ir.Value]) -> None:
        barrier()  # what was there before has been read by all
        self.left.keep(loaded[: self.left.count])
        self.right.keep(loaded[self.left.count :])
        barrier()

    def _multiply(
        self, accumulators: Sequence[ir.Value], count: int | ir.Value | None = None
    ) -> list[ir.Value]:
        """Combine the accumulators with `count` steps, a multiple of four, or with all."""
        steps = self.shape.depth if count is None else count
        if isinstance(steps, int) and steps <= self.unrolled:
            for first_step in range(0, steps, _UNROLLED):
                accumulators = self._four_steps(i32(first_step), accumulators)
            return list(accumulators)
        # Unrolled further, CUDA's compiler reads all steps first, and fills the registers.
        loop = rolled_loop(steps, _UNROLLED, accumulators)
        with ir.InsertionPoint(loop.body):
            inside = list(loop.inner_iter_args)
            scf.YieldOp(self._four_steps(loop.induction_variable, inside))
        return list(loop.results)

    def _four_steps(self, first: ir.Value, accumulators: Sequence[ir.Value]) -> Sequence[ir.Value]:
        known = [self._read_steps(each, first, side) for each, side in self._factors()]
        for number in range(_UNROLLED):
            step = arith.addi(first, i32(number))
            reads = [each and each[number] for each in known]
            accumulators = self._step(step, accumulators, reads)
        return accumulators

    def _last(self, accumulators: Sequence[ir.Value], count: int) -> list[ir.Value]:
        if count == self.shape.depth:
            return self._multiply(accumulators)
        if any(staging.is_along_steps for staging, _ in self._factors()):
            return self._multiply(accumulators, count)
        loop = scf.ForOp(i32(0), i32(count), i32(1), list(accumulators))
        with ir.InsertionPoint(loop.body):
            inside = list(loop.inner_iter_args)
            scf.YieldOp(self._step(loop.induction_variable, inside, [None, None]))
        return list(loop.results)

    def _factors(self) -> tuple[tuple[Staging, bool], tuple[Staging, bool]]:
        """Return both factors, and whether they have the columns of the result."""
        return (self.left, False), (self.right, True)

    def _step(
        self,
        step: ir.Value,
        accumulators: Sequence[ir.Value],
        known: Sequence[Sequence[ir.Value] | None],
    ) -> list[ir.Value]:
        """Combine the accumulators with one step of the reduction.

        Args:
            step: its number, an i32.
            accumulators: of all steps before.
            known: elements of each factor where they have been read.
        """
        lefts, rights = (
            self._read_step(staging, step, columns) if values is None else values
            for values, (staging, columns) in zip(known, self._factors(), strict=True)
        )
        pairs = [(left, right) for left in lefts for right in rights]
        return [
            self._combine(left, right, total)
            for (left, right), total in zip(pairs, accumulators, strict=True)
        ]

    def _read_step(self, staging: Staging, step: ir.Value, columns: bool) -> list[ir.Value]:
        """Return the thread's elements of one step."""
        own = self.own_column if columns else self.own_row
        starts = self.shape.offsets(columns=columns)
        return [
            value
            for start in starts
            for value in staging.read(step, arith.addi(own, i32(start)), VECTOR)
        ]

    def _read_steps(
        self, staging: Staging, step: ir.Value, columns: bool
    ) -> list[list[ir.Value]] | None:
        """Return the thread's elements of four steps where vectors are of steps; else None."""
        if not staging.is_along_steps:
            return None
        own = self.own_column if columns else self.own_row
        starts = self.shape.offsets(columns=columns)
        parts = [staging.read_steps(step, arith.addi(own, i32(start))) for start in starts]
        return [[value for part in parts for value in part[number]] for number in range(VECTOR)]

    def _combine(self, left: ir.Value, right: ir.Value, total: ir.Value) -> ir.Value:
        factors = {self.roles.left: left, self.roles.right: right}
        values = [factors.get(i, each.value) for i, each in enumerate(self.nest.inputs)]
        return emit_on_scalars(self.nest.body, [*values, total])[0]


def _staging(
    nest: LinearNest,
    roles: Roles,
    factor: int,
    loops: tuple[int, ...],
    width: int,
    shape: TileShape,
    member: tuple[ir.Value, ir.Value],
    shared: SharedMemory,
    in_vectors: bool,
    windows: Windows,
) -> Staging:
    access = nest.inputs[factor]
    team, thread = member
    element = access.element_type
    elements = Staging.elements(width, shape.depth, in_vectors)
    buffer = shared.allocate(elements * shape.teams, element)
    start = arith.muli(team, i32(elements))
    steps = roles.reductions
    threads = shape.threads
    around = windows.get(factor, ())
    part = (width, shape.depth, threads, thread, start, buffer, in_vectors, around)
    return Staging(nest, access, loops, steps, *part)
