# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products on Hopper's tensor cores.

One warpgroup, the producer, lets TMA copy stages of both factors into a ring in shared memory; one
or two others, the consumers, multiply 64 rows each and write results. Blocks stay on their
multiprocessor and take tile after tile, so that the producer already brings the next tile's stages
while results are written. Two barriers a stage hand it over: `full` counts the bytes that arrived,
`empty` the warps that have read. (The scheme of CUTLASS's warp-specialised persistent kernels, for
sizes that are known when compiling.) Where a block has several tiles with short reductions, the two
consumers take turns with whole tiles: one writes while the other multiplies. Where there are few
tiles, every block of a cluster takes a share of one tile's stages instead, and the cluster adds up
what its blocks have (`wgmma_split`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.dynamic_memory import dynamic_memory
from xyntra.passes.lower.cuda.launch_shape import CudaLaunch
from xyntra.passes.lower.cuda.matmul.row_table import RowTable
from xyntra.passes.lower.cuda.matmul.tile_order import TileOrder
from xyntra.passes.lower.cuda.matmul.wgmma.exchange import Exchange
from xyntra.passes.lower.cuda.matmul.wgmma.factor import TmaOperand
from xyntra.passes.lower.cuda.matmul.wgmma.plan import WgmmaPlan, accumulator_bytes
from xyntra.passes.lower.cuda.matmul.wgmma.producer import Producer
from xyntra.passes.lower.cuda.matmul.wgmma.ring import Ring, rolled
from xyntra.passes.lower.cuda.matmul.wgmma.split import leave_sums, write_share
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import (
    BLOCK_BYTES,
    SWIZZLE,
    WARPGROUP,
    WARPGROUP_ROWS,
    Tile,
)
from xyntra.passes.lower.cuda.ptx.barriers import mbarrier_wait_parity
from xyntra.passes.lower.cuda.ptx.clusters import barrier_cluster_arrive
from xyntra.passes.lower.cuda.ptx.launches import griddepcontrol_wait
from xyntra.passes.lower.cuda.ptx.memory import shared_address
from xyntra.passes.lower.cuda.ptx.warpgroups import (
    packed,
    setmaxnreg,
    unpacked,
    wgmma,
    wgmma_advanced,
    wgmma_commit_group,
    wgmma_descriptor,
    wgmma_fence,
    wgmma_wait_group,
    wgmma_wait_group_asm,
)
from xyntra.passes.lower.cuda.ptx.warps import WARP, shfl_first
from xyntra.passes.lower.cuda.tensor_map import map_argument
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import barrier, block_number, i32, thread_number, when
from xyntra.passes.lower.gpu.matmul.place import TilePosition

_STEP_BYTES = 32  # of the reduction, in one wgmma
_STEPS = 16  # of 16-bit elements
_UNUSED = 16  # bytes
_BARRIER = 8  # bytes
_PRODUCER_REGISTERS = 40
_CONSUMER_REGISTERS = 232


def emit_wgmma(plan: WgmmaPlan, shared: SharedMemory) -> CudaLaunch:
    """Emit a product for a launch of the returned shape.

    Args:
        plan: how it is computed.
        shared: of the launch.
    """
    product, results = plan.order.product, [each for _, each in plan.results]
    written = [value for each in results for value in each.mapped_buffers]
    if plan.order.tile.split > 1:
        written = []
    buffers = [product.left.value, product.right.value, *written]
    maps = tuple(map_argument(value, number) for number, value in enumerate(buffers))
    tile = plan.order.tile
    barriers = plan.stages * tile.stage_bytes + plan.staging_bytes
    ring = Ring(shared_address(dynamic_memory(shared)), plan.stages, tile, barriers)
    kernel = _Kernel(plan, maps, ring)
    kernel.emit()
    return CudaLaunch(
        kernel.blocks,
        tile.threads,
        barriers + ring.barrier_bytes + _BARRIER * plan.sends,
        tile.split,
        maps=plan.maps,
        resident=1,
    )


@dataclass(frozen=True)
class _Kernel:
    """One launch.

    Attributes:
        plan: of the product.
        maps: of the factors and results, as LLVM pointers.
        ring: of stages, at the start of shared memory.
    """

    plan: WgmmaPlan
    maps: tuple[ir.Value, ...]
    ring: Ring

    @property
    def order(self) -> TileOrder:
        return self.plan.order

    @property
    def left(self) -> TmaOperand:
        return self.plan.left

    @property
    def right(self) -> TmaOperand:
        return self.plan.right

    @property
    def tile(self) -> Tile:
        return self.order.tile

    @property
    def product(self) -> BatchedMatmul:
        return self.order.product

    @property
    def blocks(self) -> int:
        """The number of blocks of the launch."""
        if self.tile.split > 1:
            return self.order.count * self.tile.split
        count, most = self.order.count, self.plan.device.multiprocessors
        return count if always_at_most(count, most) else most

    @property
    def steps(self) -> int:
        """Stages that a tile takes."""
        return self.plan.steps

    @property
    def memory(self) -> ir.Value:
        """Address of the shared memory, an i32."""
        return self.ring.memory

    @property
    def table(self) -> RowTable | None:
        """Values of the tile's rows, which what follows reads."""
        if self.plan.values is None:
            return None
        start = arith.addi(self.memory, i32(self.ring.barriers - self.plan.table_bytes))
        return RowTable(self.plan.values, start, self.tile.consumers * self.tile.own_rows)

    @property
    def exchange(self) -> Exchange | None:
        """Return how blocks that share a tile send each other their accumulators, if they do."""
        if not self.plan.sends:
            return None
        arrived = self.ring.barriers + self.ring.barrier_bytes
        slots, place = self.ring.nbytes, arith.addi(self.memory, i32(arrived))
        nbytes, blocks = accumulator_bytes(self.tile), self.tile.split
        start = arith.addi(self.memory, i32(slots))
        return Exchange(self.memory, start, place, blocks, nbytes // blocks)

    def emit(self) -> None:
        group = shfl_first(arith.shrui(thread_number(), i32(WARPGROUP.bit_length() - 1)))
        is_first = arith.cmpi(arith.CmpIPredicate.eq, thread_number(), i32(0))
        producer = Producer(self.plan, self.maps, self.ring)
        exchange = self.exchange
        with when(is_first):
            if exchange is not None:
                exchange.prepare()
            producer.prepare(self.order.place(self._first_tile()), self._own_steps())
        barrier()
        if exchange is not None:
            barrier_cluster_arrive(release=False)
        griddepcontrol_wait()
        is_producer = arith.cmpi(arith.CmpIPredicate.eq, group, i32(0))
        roles = scf.IfOp(is_producer, has_else=True)
        with ir.InsertionPoint(roles.then_block):
            self._set_registers(_PRODUCER_REGISTERS, increase=False)
            with when(is_first):
                steps = self._own_steps()
                first = [i32(0), i32(0), producer.begun(steps)]
                self._tiles(lambda place, ring: producer.bring(place, steps, ring), first)
            scf.YieldOp([])
        with ir.InsertionPoint(roles.else_block):
            self._set_registers(_CONSUMER_REGISTERS, increase=True)
            self._consume(arith.subi(group, i32(1)))
            scf.YieldOp([])
        if self.tile.split > 1:
            number, rank = self._share()
            place = self.order.place(number)
            write_share(self.plan, self.memory, place, rank, self.table, exchange)

    def _set_registers(self, count: int, *, increase: bool) -> None:
        """Let consumers have registers of the producer, where two would have too few."""
        # Blocks that share a tile with all their threads need them all alike.
        if self.tile.consumers > 1 and self.tile.split == 1:
            setmaxnreg(count, increase=increase)

    def _tiles(
        self,
        body: Callable[[TilePosition, Sequence[ir.Value]], Sequence[ir.Value]],
        ring: Sequence[ir.Value],
        consumer: ir.Value | None = None,
    ) -> None:
        """Let the block take its tiles, or a consumer every other one of them.

        Args:
            body: is given stage, parity and what else is carried on, and returns the next of them.
            ring: these before the block's first tile.
            consumer: its number, an i32, where consumers take turns.
        """
        if self.tile.split > 1:
            body(self.order.place(self._first_tile()), ring)
            return
        first, step = block_number(), self.blocks
        if consumer is not None:
            first = arith.addi(first, arith.muli(consumer, i32(step)))
            ahead = self.ring.ahead(ring[0], ring[1], arith.muli(consumer, i32(self.steps)))
            ring = [*ahead, *ring[2:]]
            step *= self.tile.consumers
        loop = scf.ForOp(first, i32(self.order.count), i32(step), list(ring))
        with ir.InsertionPoint(loop.body):
            place = self.order.place(loop.induction_variable)
            following = list(body(place, list(loop.inner_iter_args)))
            if consumer is not None:
                others = i32((self.tile.consumers - 1) * self.steps)
                following[:2] = self.ring.ahead(following[0], following[1], others)
            scf.YieldOp(following)

    def _share(self) -> tuple[ir.Value, ir.Value]:
        """Return the number of the cluster, which is that of its tile, and the block's rank."""
        split = i32(self.tile.split)
        return arith.divui(block_number(), split), arith.remui(block_number(), split)

    def _first_tile(self) -> ir.Value:
        return self._share()[0] if self.tile.split > 1 else block_number()

    def _own_steps(self) -> tuple[ir.Value, ir.Value]:
        """Return the first of the block's stages of a tile, and how many there are."""
        if self.tile.split == 1:
            return i32(0), i32(self.steps)
        each = -(-self.steps // self.tile.split)
        first = arith.muli(self._share()[1], i32(each))
        return first, arith.minsi(i32(each), arith.subi(i32(self.steps), first))

    def _consume(self, number: ir.Value) -> None:
        """Multiply and write as consumer `number`, an i32."""

        def work(place: TilePosition, ring: Sequence[ir.Value]) -> Sequence[ir.Value]:
            self._fill_table(place, number)
            turn = list(ring[2:])
            for parity in turn:
                self.ring.wait_for_turn(number, parity)
            accumulators, following = self._multiply(number, ring[:2])
            if self.tile.split > 1:
                leave_sums(self.plan, self.memory, number, accumulators)
                return following
            self._write(place, accumulators, number)
            return [*following, *(arith.xori(parity, i32(1)) for parity in turn)]

        if self.tile.turns:
            self._tiles(work, [i32(0), i32(0), arith.xori(number, i32(1))], number)
        else:
            self._tiles(work, [i32(0), i32(0)])
        if self.tile.split == 1:
            self.plan.results[0][1].finish()

    def _fill_table(self, place: TilePosition, number: ir.Value) -> None:
        """Compute values of a consumer's rows, while the first stages are on their way."""
        table = self.table
        if table is not None:
            rows = self.tile.own_rows
            begin = arith.muli(number, i32(rows))
            first = arith.subi(place.row, begin) if self.tile.turns else place.row
            table.fill(first, begin, rows, WARPGROUP)

    def _write(
        self, place: TilePosition, accumulators: Sequence[ir.Value], number: ir.Value
    ) -> None:
        """Write a consumer's rows of a tile, 64 by 64."""
        begin = arith.muli(number, i32(self.tile.own_rows))
        parts = self.tile.own_rows // WARPGROUP_ROWS
        count = len(accumulators) // parts
        for part in range(parts):
            ahead = i32(part * WARPGROUP_ROWS)
            own = arith.addi(begin, ahead)
            row = arith.addi(place.row, ahead if self.tile.turns else own)
            rows = TilePosition(place.position, row, place.column)
            self._write_rows(rows, accumulators[part * count : (part + 1) * count], number, own)

    def _write_rows(
        self,
        place: TilePosition,
        accumulators: Sequence[ir.Value],
        number: ir.Value,
        begin: ir.Value,
    ) -> None:
        """Write 64 rows of a consumer, from row `begin` of its table on, to one of the slices."""
        staging = arith.addi(self.memory, i32(self.ring.nbytes))
        maps = list(self.maps[2:])
        for start, results in self.plan.results:
            own = [maps.pop(0) for _ in results.maps]
            column = arith.subi(place.column, i32(start))
            extent = i32(results.product.size(results.product.columns))
            is_inside = arith.cmpi(arith.CmpIPredicate.ult, column, extent)
            always = len(self.plan.results) == 1
            with nullcontext() if always else when(is_inside):
                within = TilePosition(place.position, place.row, column)
                results.write(within, accumulators, number, staging, own, (self.table, begin))

    def _multiply(
        self, number: ir.Value, ring: Sequence[ir.Value]
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        """Return a tile's accumulators, and stage and parity behind it."""
        before = ring[0]
        # The first stage is by itself: it starts the accumulators.
        accumulators, ring = self._stage(number, ring, None)
        count = len(accumulators)
        loop = rolled(i32(1), self._own_steps()[1], [*accumulators, *ring, before])
        with ir.InsertionPoint(loop.body):
            inside = list(loop.inner_iter_args)
            accumulators, following = self._stage(number, inside[count : count + 2], inside[:count])
            wgmma_wait_group(1)
            self._release(inside[-1])  # its multiplications have ended
            scf.YieldOp([*accumulators, *following, inside[count]])
        results = list(loop.results)
        if self.tile.turns:
            self.ring.pass_turn(number, self._lane())
        accumulators = wgmma_wait_group_asm(0, results[:count])
        self._release(results[-1])
        return accumulators, results[count : count + 2]

    def _stage(
        self, number: ir.Value, ring: Sequence[ir.Value], accumulators: Sequence[ir.Value] | None
    ) -> tuple[list[ir.Value], list[ir.Value]]:
        stage, parity = ring
        mbarrier_wait_parity(self.ring.full(stage), parity)
        wgmma_fence()
        own = self.ring.part(0, stage)
        if not self.tile.turns:
            own = arith.addi(own, arith.muli(number, i32(BLOCK_BYTES)))
        left = wgmma_descriptor(own, _blocks_apart(self.left))
        right = wgmma_descriptor(self.ring.part(1, stage), _blocks_apart(self.right))
        parts, count = self.tile.own_rows // WARPGROUP_ROWS, self.tile.columns // 2
        found = [
            packed(accumulators[n * count : (n + 1) * count]) if accumulators else None
            for n in range(parts)
        ]
        for step in range(SWIZZLE // _STEP_BYTES):
            for part in range(parts):
                found[part] = wgmma(
                    found[part],
                    wgmma_advanced(left, part * BLOCK_BYTES + step * _step_bytes(self.left)),
                    wgmma_advanced(right, step * _step_bytes(self.right)),
                    self.tile.columns,
                    (self.product.element, self.product.right_element),
                    a_k_major=self.left.is_deep,
                    b_k_major=self.right.is_deep,
                )
        own_sums = [each for part in found if part for each in unpacked(part, count)]
        wgmma_commit_group()
        return own_sums, self.ring.following(stage, parity)

    def _release(self, stage: ir.Value) -> None:
        self.ring.release(stage, self._lane())

    def _lane(self) -> ir.Value:
        return arith.andi(thread_number(), i32(WARP - 1))


def _blocks_apart(factor: TmaOperand) -> int:
    """Return how far apart blocks of 64 rows or columns are; any number if rows hold steps."""
    return _UNUSED if factor.is_deep else BLOCK_BYTES


def _step_bytes(factor: TmaOperand) -> int:
    """Return how far apart in shared memory the steps of two successive wgmma are."""
    return _STEP_BYTES if factor.is_deep else _STEPS * SWIZZLE
