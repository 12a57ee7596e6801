# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides whether warpgroups compute a contraction, and plans its tiles and copies."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import always_at_most
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile
from xyntra.passes.lower.cuda.matmul.tile_order import TileOrder
from xyntra.passes.lower.cuda.matmul.wgmma.factor import TmaOperand
from xyntra.passes.lower.cuda.matmul.wgmma.results import Results
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import (
    SWIZZLE,
    PairedOperand,
    Tile,
    can_pair,
    can_split,
    depth,
    microseconds,
    operand,
    ranked_paired_tiles,
    ranked_tiles,
    stages,
)
from xyntra.passes.lower.cuda.ptx.warps import WARP
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.contraction.group import Pairing, Slice
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, stride_of
from xyntra.passes.lower.gpu.contraction.row_partials import RowPartials
from xyntra.passes.lower.gpu.contraction.row_values import RowValueLoops
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.kernels.epilogue import Epilogue


@dataclass(frozen=True)
class WgmmaPlan:
    """A plan of a matmul on warpgroups.

    Attributes:
        device: that the code is for.
        order: of the tiles.
        left: the left factor.
        right: the right factor.
        results: what consumers write, each from its first column on.
        steps: stages of the reduction.
        microseconds: an estimate of how long it takes.
        brought: bytes that the copies of a stage move, where they leave some of it out.
        values: of rows, which what follows reads.
        partials: sums over parts of the rows of a result, which are written along with it.
    """

    device: GpuDevice
    order: TileOrder
    left: TmaOperand
    right: TmaOperand
    results: tuple[tuple[int, Results], ...]
    steps: int
    microseconds: float
    brought: int | None = None
    values: RowValueLoops | None = None
    partials: RowPartials | None = None

    @property
    def staging_bytes(self) -> int:
        """Shared memory beside the ring: what results pass through, then values of rows."""
        if self.order.tile.split > 1:
            return (accumulator_bytes(self.order.tile) if self.sends else 0) + self.table_bytes
        return max(each.staging_bytes for _, each in self.results) + self.table_bytes

    @property
    def sends(self) -> bool:
        """Whether blocks that share a tile send each other accumulators; else they read them."""
        tile = self.order.tile
        rows = tile.rows // tile.split
        return tile.split > 1 and rows * tile.split == tile.rows and not rows % 8

    @property
    def table_bytes(self) -> int:
        """Shared memory for values of rows."""
        tile = self.order.tile
        rows = tile.consumers * tile.own_rows
        return 0 if self.values is None else self.values.table_bytes(rows)

    def with_rows(self, values: RowValueLoops | None, partials: RowPartials | None) -> WgmmaPlan:
        """Return the plan with what belongs to rows; partials are of the only results."""
        results = tuple((start, replace(each, partials=partials)) for start, each in self.results)
        return replace(self, values=values, partials=partials, results=results)

    @property
    def has_single_tiles(self) -> bool:
        """Tell whether no block takes more than one tile."""
        few = always_at_most(self.order.count, self.device.multiprocessors)
        return self.order.tile.split > 1 or few

    @property
    def stages(self) -> int:
        """The stages of the ring: no more than blocks of a single tile use."""
        if not self.has_single_tiles:
            return self._room
        own = -(-self.steps // self.order.tile.split)
        return min(self._room, max(own, self._accumulator_stages))

    @property
    def fits(self) -> bool:
        """Whether shared memory holds results on their way out, and two stages if there are two."""
        own = -(-self.steps // self.order.tile.split)
        return self._room >= max(min(own, 2), self._accumulator_stages)

    @property
    def _room(self) -> int:
        return stages(self.order.tile, self.staging_bytes, self.device)

    @property
    def _accumulator_stages(self) -> int:
        """Stages of the ring in which blocks that share a tile leave their accumulators."""
        tile = self.order.tile
        return -(-accumulator_bytes(tile) // tile.stage_bytes) if tile.split > 1 else 1

    @property
    def maps(self) -> tuple[TensorMap, ...]:
        """The tensor maps of the factors, and of results that TMA writes."""
        if self.order.tile.split > 1:
            return (self.left.map, self.right.map)
        results = [each for _, result in self.results for each in result.maps]
        return (self.left.map, self.right.map, *results)


def accumulator_tile(tile: Tile) -> MmaTile:
    """Return how the accumulators of a tile lie in the shared memory of blocks that share it."""
    return MmaTile(tile.rows, tile.columns, tile.threads // WARP, 1, split=tile.split)


def accumulator_bytes(tile: Tile) -> int:
    """Return the shared memory of a tile's accumulators."""
    return tile.rows * accumulator_tile(tile).pitch * ITEM_BYTES["f32"]


def plan_wgmma(
    product: BatchedMatmul,
    device: GpuDevice,
    epilogue: Epilogue | None,
    slices: Sequence[Slice] = (),
    tile: Tile | None = None,
) -> WgmmaPlan | None:
    """Return how a product is computed; None where TMA cannot copy its factors.

    Args:
        product: what is computed.
        device: that the code is for.
        epilogue: what happens to each element before it is stored, if anything.
        slices: what happens in its place, where that differs from column to column.
        tile: how the product is cut; None to choose.
    """
    if tile is not None:
        return _plan_in_tiles(product, device, epilogue, slices, tile)
    work, starts = work_of(epilogue, slices), [each.start for each in slices]
    followers = [each.epilogue for each in slices] if slices else [epilogue]
    leaves_registers = all(_leaves_registers(product, each) for each in followers)
    ranked = ranked_tiles(product, device, work, starts, leaves_registers)
    return _first_that_fits(
        _plan_in_tiles(product, device, epilogue, slices, each) for each in ranked
    )


def _first_that_fits(plans: Iterable[WgmmaPlan | None]) -> WgmmaPlan | None:
    """Return the first plan that fits shared memory, of the same product in other tiles."""
    for plan in plans:
        if plan is None or plan.fits:
            return plan
    return None


def _plan_in_tiles(
    product: BatchedMatmul,
    device: GpuDevice,
    epilogue: Epilogue | None,
    slices: Sequence[Slice],
    tile: Tile,
) -> WgmmaPlan | None:
    if any(each.start % tile.columns for each in slices):
        return None
    if tile.split > 1 and (slices or not can_split(product, tile)):
        return None
    left = operand(product, product.left, tile.rows, is_left=True)
    right = operand(product, product.right, tile.columns, is_left=False)
    whole = [(0, product, epilogue)]
    parts = [(each.start, product.narrowed(each.columns), each.epilogue) for each in slices]
    results = [(start, Results.of(part, own, tile)) for start, part, own in parts or whole]
    found = tuple((start, each) for start, each in results if each is not None)
    if left is None or right is None or len(found) < len(results):
        return None
    if len({each.parts for _, each in found}) > 1:
        return None  # they take turns in shared memory
    steps = -(-product.size(product.depth) // depth(product))
    # Without what follows, as of what it is compared with.
    time = microseconds(product, tile, 0, device)
    order, brought = TileOrder(product, tile), left.nbytes + right.nbytes
    return WgmmaPlan(device, order, left, right, found, steps, time, brought)


def plan_paired(
    product: BatchedMatmul, device: GpuDevice, pairing: Pairing, tile: Tile | None = None
) -> WgmmaPlan | None:
    """Return how a product is computed of which two columns at a time are taken.

    Half of a tile's columns are of either half, so that a thread has both of a pair. None where TMA
    cannot copy the factors.

    Args:
        product: with the columns of both.
        device: that the code is for.
        pairing: what follows.
        tile: how the product is cut; None to choose.
    """
    work = _operations_of(pairing.epilogue)
    tiles = [tile] if tile is not None else ranked_paired_tiles(product, device, work)
    plans = (_plan_pairs(product, device, pairing, each) for each in tiles)
    return next(plans) if tile is not None else _first_that_fits(plans)


def _plan_pairs(
    product: BatchedMatmul, device: GpuDevice, pairing: Pairing, chosen: Tile
) -> WgmmaPlan | None:
    if not can_pair(chosen):
        return None
    columns = chosen.columns // 2
    own = product.narrowed(pairing.columns)
    before = (
        ()
        if pairing.before is None
        else [pairing.before.moved(product.columns[-1], start) for start in pairing.starts]
    )
    results = Results.of(own, pairing.epilogue, replace(chosen, columns=columns), before)
    left = operand(product, product.left, chosen.rows, is_left=True)
    half = operand(product, product.right, columns, is_left=False)
    if left is None or half is None or results is None:
        return None
    right = PairedOperand(half, pairing.starts, columns * SWIZZLE)
    steps = -(-product.size(product.depth) // depth(product))
    order = TileOrder(own, chosen, parts=2)
    time, brought = microseconds(product, chosen, 0, device), left.nbytes + right.nbytes
    return WgmmaPlan(device, order, left, right, ((0, results),), steps, time, brought)


def _leaves_registers(product: BatchedMatmul, epilogue: Epilogue | None) -> bool:
    """Tell whether what follows a product takes few registers.

    So does one result of 16 bits to which no other matrix belongs.
    """
    if epilogue is None or epilogue.result is not None or len(epilogue.outputs) != 1:
        return False
    kind = ir.MemRefType(epilogue.outputs[0].value.type).element_type
    read = [each for each in epilogue.inputs if each is not None and not each.is_scalar]
    loops = (*product.rows, *product.batch)
    by_row = any(stride_of(each, loop) for each in read for loop in loops)
    return ITEM_BYTES[str(kind)] == ITEM_BYTES["f16"] and product.item_bytes <= 2 and not by_row


def work_of(epilogue: Epilogue | None, slices: Sequence[Slice] = ()) -> int:
    """Return how many operations there are on each element of the result, at most."""
    followers = [each.epilogue for each in slices] + ([] if epilogue is None else [epilogue])
    return max(map(_operations_of, followers), default=0)


def _operations_of(epilogue: Epilogue) -> int:
    return len(list(epilogue.body.operations)) - 1
