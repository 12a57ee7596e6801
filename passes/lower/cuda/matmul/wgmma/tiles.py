# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the tiles and stages of a matmul on wgmma, and what TMA copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_mlir.dialects import arith

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import Size, hint_of
from xyntra.passes.lower.cuda.matmul.wgmma.factor import StagePlace, StageTarget
from xyntra.passes.lower.cuda.ptx.tma import cp_async_bulk_tensor_load
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, Dimension
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.thread_grid import i32
from xyntra.passes.lower.loops.linear_nest import BufferOperand

SWIZZLE = 128
"""Bytes of a row in shared memory, and of the pattern that its chunks are permuted in."""
WARPGROUP = 128
"""Threads that issue one wgmma together."""
WARPGROUP_ROWS = 64
"""Rows of one wgmma."""
BLOCK = 64
"""Rows or columns that one copy takes where they are contiguous, and its steps of the reduction."""
BLOCK_BYTES = BLOCK * SWIZZLE
"""Of 64 rows of either factor, or of 64 steps of 64 neighbouring ones."""
_MAX_RANK = 5
_ALIGNMENT = 16  # bytes, of strides and addresses of TMA
_MAX_STAGES = 8
_MAX_SHARE_STAGES = 12  # where blocks share a reduction
_BARRIER_BYTES = 1024


@dataclass(frozen=True)
class Tile:
    """The output tile that one block computes at a time.

    Attributes:
        rows: 64 for every warpgroup that multiplies, of which there are one or two; 64 or 128 where
            they take turns.
        columns: a multiple of 64, up to 256.
        group: rows of tiles that are walked through together, so that they share columns in L2.
        split: blocks that share the reduction of a tile, one cluster; each has no other tile.
        turns: two warpgroups multiply, each a tile of its own: one writes results while the other
            multiplies.
    """

    rows: int
    columns: int
    group: int = 8
    split: int = 1
    turns: bool = False

    @property
    def consumers(self) -> int:
        """Warpgroups that multiply."""
        return 2 if self.turns else self.rows // WARPGROUP_ROWS

    @property
    def own_rows(self) -> int:
        """Rows of one warpgroup."""
        return self.rows if self.turns else WARPGROUP_ROWS

    @property
    def threads(self) -> int:
        """The threads of a block: one warpgroup more than consumers, which copies."""
        return (self.consumers + 1) * WARPGROUP

    @property
    def stage_bytes(self) -> int:
        """Shared memory of one stage."""
        return (self.rows + self.columns) * SWIZZLE


@dataclass(frozen=True)
class PairedOperand:
    """The right factor of a product of which two columns at a time are taken.

    A stage holds columns of either half side by side.

    Attributes:
        half: how TMA copies the columns of one.
        starts: the first column of either half.
        half_bytes: shared memory of one.
    """

    half: CopiedOperand
    starts: tuple[int, int]
    half_bytes: int

    @property
    def is_deep(self) -> bool:
        """Tell whether steps are contiguous in shared memory; else columns are."""
        return self.half.is_deep

    @property
    def map(self) -> TensorMap:
        """The tensor map."""
        return self.half.map

    @property
    def nbytes(self) -> int:
        """Bytes that the copies of a stage move."""
        return len(self.starts) * self.half.nbytes

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copies of one stage."""
        for number, start in enumerate(self.starts):
            target = arith.addi(stage.target, i32(number * self.half_bytes))
            first = arith.addi(place.first, i32(start))
            self.half.bring(replace(stage, target=target), replace(place, first=first))


@dataclass(frozen=True)
class CopiedOperand:
    """A factor as TMA copies it.

    Attributes:
        is_deep: steps of the reduction are contiguous in memory; else rows or columns are.
        batch: loops of the batch that move it, which follow the two dimensions of the matrix.
        map: of the tensor; one copy moves 128 contiguous bytes.
        copies: of which a stage needs as many.
    """

    is_deep: bool
    batch: tuple[int, ...]
    map: TensorMap
    copies: int

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copies of one stage."""
        word = ir.IntegerType.get_signless(32)
        others = [arith.index_castui(word, place.batch[number]) for number in self.batch]
        deep = arith.muli(place.step, i32(self.depth))
        for number in range(self.copies):
            target = arith.addi(stage.target, i32(number * BLOCK_BYTES))
            near = arith.addi(place.first, i32(number * BLOCK))
            corner = [deep, place.first] if self.is_deep else [near, deep]
            cp_async_bulk_tensor_load(target, stage.tensor, [*corner, *others], stage.full)

    @property
    def nbytes(self) -> int:
        """Bytes that the copies of a stage move."""
        return self.copies * self.map.box[1] * SWIZZLE

    @property
    def depth(self) -> int:
        """Steps of the reduction in one stage."""
        return self.map.box[0 if self.is_deep else 1]


def depth(product: BatchedMatmul) -> int:
    """Return the steps of the reduction in one stage: a row of shared memory."""
    return SWIZZLE // product.item_bytes


def operand(
    product: BatchedMatmul, access: BufferOperand, width: int, *, is_left: bool
) -> CopiedOperand | None:
    """Return how TMA copies a factor; None where its strides do not allow it.

    Args:
        product: the matrix product.
        access: the factor.
        width: rows or columns of a tile.
        is_left: which of the two it is.
    """
    wide = product.dimensions(access, product.rows if is_left else product.columns)
    deep = product.dimensions(access, product.depth)
    batch = tuple(number for number in product.batch if access.strides[number])
    if len(wide) != 1 or len(deep) != 1 or len(batch) + 2 > _MAX_RANK:
        return None
    is_deep = deep[0].stride == 1
    if not is_deep and product.item_bytes != ITEM_BYTES["f16"]:
        return None  # the hardware transposes 16-bit elements alone
    inner, outer = (deep[0], wide[0]) if is_deep else (wide[0], deep[0])
    loops = product.nest.loops
    others = [Dimension(loops[number].extent, access.strides[number]) for number in batch]
    # Rows outside of the tensor take TMA as long as others, or longer.
    rows = wide[0].extent
    high = width if isinstance(rows, Size) else min(width, rows)
    box = (depth(product), high) if is_deep else (BLOCK, BLOCK)
    element = "" if product.item_bytes == 1 else product.element
    found = tensor_map(access, [inner, outer, *others], box, element)
    if found is None:
        return None
    return CopiedOperand(is_deep, batch, found, 1 if is_deep else width // BLOCK)


def tensor_map(
    access: BufferOperand, dimensions: list[Dimension], box: tuple[int, int], element: str = ""
) -> TensorMap | None:
    """Return the map of a tensor; None where TMA cannot copy it.

    Args:
        access: the buffer.
        dimensions: innermost first.
        box: elements that one copy moves in the first two of them.
        element: what they become in shared memory; as they are where not given.
    """
    stored = str(access.element_type)
    nbytes = ITEM_BYTES[stored]
    strides = [each.stride * nbytes for each in dimensions[1:]]
    offset = (access.start) * nbytes
    if dimensions[0].stride != 1 or len(dimensions) > _MAX_RANK:
        return None
    if any(place <= 0 or place % _ALIGNMENT for place in strides) or offset % _ALIGNMENT:
        return None
    sizes = tuple(each.extent for each in dimensions)
    full_box = (*box, *[1] * (len(dimensions) - 2))
    return TensorMap(element or stored, sizes, tuple(strides), full_box, SWIZZLE, offset)


def stages(tile: Tile, staging: int, device: GpuDevice) -> int:
    """Return how many stages of the reduction fit beside `staging` bytes for the results."""
    left = device.block_shared_bytes - staging - _BARRIER_BYTES
    most = _MAX_STAGES if tile.split == 1 else _MAX_SHARE_STAGES
    return min(left // tile.stage_bytes, most)


def ranked_tiles(
    product: BatchedMatmul,
    device: GpuDevice,
    work: int = 0,
    starts: Sequence[int] = (),
    leaves_registers: bool = False,
) -> list[Tile]:
    """Return the tiles of a product, the fastest first, as `microseconds` has it.

    Args:
        product: what is computed.
        device: that the code is for.
        work: operations on each element of the result.
        starts: columns, multiples of 64, at which a tile must start.
        leaves_registers: whether what follows takes few of them.
    """
    turns = _TURNS if leaves_registers and work <= _LITTLE_WORK else ()
    several = [tile for tile in turns if _waves(product, tile, device) >= _LEAST_TURNS]
    tiles = (*TILES, *several)
    fitting = [tile for tile in tiles if all(start % tile.columns == 0 for start in starts)]
    if not starts:
        fitting += [tile for tile in _shared_tiles() if can_split(product, tile)]
    return sorted(fitting, key=lambda tile: microseconds(product, tile, work, device))


def ranked_paired_tiles(product: BatchedMatmul, device: GpuDevice, work: int) -> list[Tile]:
    """Return the tiles for a product of which two columns at a time are taken, the fastest first.

    Args:
        product: with the columns of both.
        device: that the code is for.
        work: operations on each element of what follows.
    """
    fitting = [tile for tile in TILES if can_pair(tile)]
    return sorted(fitting, key=lambda tile: microseconds(product, tile, work // 2, device))


def can_pair(tile: Tile) -> bool:
    """Tell whether a tile holds whole copies of columns of two halves."""
    return tile.split == 1 and not tile.turns and tile.columns % (2 * BLOCK) == 0


def wgmma_choices() -> list[Tile]:
    """Return every tile that there is code for, whatever it is worth."""
    turns = [replace(tile, turns=True) for tile in TILES if tile.columns <= _MOST_IN_TURN]
    return [*TILES, *turns, *_shared_tiles()]


def wgmma_refusal(tile: Tile) -> str | None:
    """Return what is wrong with a tile, whatever the product is; None for nothing."""
    known = {(each.rows, each.columns, each.turns) for each in wgmma_choices()}
    if (tile.rows, tile.columns, tile.turns) not in known:
        shapes = (f"{[r, c]}{' by turns' if turns else ''}" for r, c, turns in sorted(known))
        return f"has other tiles: {', '.join(shapes)}"
    if tile.group < 1:
        return f"walks through groups of 1 or more rows of tiles, not {tile.group}"
    if tile.split not in (1, *_CLUSTERS):
        return f"splits a reduction in {', '.join(map(str, (1, *_CLUSTERS)))}, not {tile.split}"
    return None


def can_split(product: BatchedMatmul, tile: Tile) -> bool:
    """Tell whether every block of a cluster has stages to bring, and all blocks run at once.

    What blocks send each other are sums of f32.
    """
    return not product.is_integer and shares(tile, _tiles(product, tile), _steps(product))


def shares(tile: Tile, tiles: int, steps: int) -> bool:
    """Tell the same of `tiles` tiles of `steps` stages each."""
    each = -(-steps // tile.split)
    most = _TALL_CLUSTERS if tile == _TALL else _CLUSTERS[tile.split]
    return tiles <= most and each >= _MIN_SHARE and each * (tile.split - 1) < steps


def _shared_tiles() -> list[Tile]:
    return [*(Tile(64, 64, split=split) for split in _CLUSTERS), _TALL]  # others took longer


def _steps(product: BatchedMatmul) -> int:
    return -(-product.size(product.depth) // depth(product))


def _tiles(product: BatchedMatmul, tile: Tile) -> int:
    rows, columns = product.size(product.rows), product.size(product.columns)
    return -(-rows // tile.rows) * -(-columns // tile.columns) * product.size(product.batch)


def _waves(product: BatchedMatmul, tile: Tile, device: GpuDevice) -> int:
    """Return how many tiles a block takes at most."""
    return -(-_tiles(product, tile) // device.multiprocessors)


TILES = (
    Tile(128, 256),
    Tile(128, 192),
    Tile(128, 128),
    Tile(64, 128),
    Tile(128, 64),
    Tile(64, 64),
)
"""The tiles that are chosen from."""
_TURNS = (Tile(128, 128, turns=True),)
"""Likewise, where a block has some tiles: on an H100, 8192x3072x768 of bf16 takes 54 us by them, 57
by warpgroups that share tiles. With 192 columns it is 53, but ptxas takes longer."""
_MOST_IN_TURN = 192  # columns, for which there are registers
_LEAST_TURNS = 3  # tiles of a block
_LITTLE_WORK = 8  # operations on each element: with more, nothing is won by turns
_CLUSTERS = {2: 64, 4: 30, 8: 15}
"""Clusters of so many blocks, one a multiprocessor, that run at once on an H100."""
_TALL = Tile(128, 64, split=4)
_TALL_CLUSTERS = 16  # on an H100 100x1000x2048 takes 5.0 us by them, 6.0 by smaller tiles
_MIN_SHARE = 2  # stages of a block that shares a reduction
_WIDE_COLUMNS = 192
# Fitted to 77 launches of 30 products on one H100, which they miss by 11 % in the geometric mean.
_LAUNCH = 1.5  # microseconds
_TILE = 0.29  # microseconds, of every tile of a block
_STEP = 0.131  # microseconds, of every stage at least
_MULTIPLY = 3.0e6  # products in a microsecond
_WIDE = 1.065  # times as many where one wgmma has many columns
_IN_TURN = 0.98  # times as many where one warpgroup multiplies at a time
_BRING = 138e3  # bytes in a microsecond
# From the L2 cache to all multiprocessors: where every one brought 64x128 tiles for long, they got
# so much, and products of 60 GFLOP took 1.5 times as long as what has fewer bytes to bring.
_BRING_ALL = 12.5e6  # bytes in a microsecond
_SUSTAINED = 4  # tiles of a block, from which on that bounds
_WRITE = 8.1e-5  # microseconds, of one element of a tile
_EXPOSED = 0.35  # of that, which a block's next tile does not hide
_WORK = 5e-6  # microseconds, of one operation on one element of a tile
_CLUSTER, _MEMBER = 0.7, 0.2  # microseconds that a cluster waits, and more for each of its blocks
_EXCHANGE = 1.4e-4  # microseconds, of one element of a warpgroup that blocks add up


def microseconds(product: BatchedMatmul, tile: Tile, work: int, device: GpuDevice) -> float:
    """Return about how long a product takes.

    Args:
        product: what is computed.
        tile: how it is cut.
        work: operations on each element of the result.
        device: that the code is for.
    """
    steps, elements = _steps(product), tile.rows * tile.columns
    rate = _MULTIPLY * (_WIDE if tile.columns >= _WIDE_COLUMNS else 1.0)
    rate *= _IN_TURN if tile.turns else 1.0
    waves: int = hint_of(_waves(product, tile, device))
    bring = bring_rate(_BRING, waves, device)
    step = max(elements * BLOCK / rate, tile.stage_bytes / bring, _STEP)
    if tile.split > 1:
        return _LAUNCH + _TILE + -(-steps // tile.split) * step + exchange(tile)
    results = elements * (_WRITE * (1 + _EXPOSED * (waves - 1)) + _WORK * work * waves)
    if tile.turns:  # the other warpgroup multiplies meanwhile, but for the last tile
        results = elements * (_WRITE + _WORK * work * (waves + 1))
    return _LAUNCH + waves * (steps * step + _TILE) + results


def bring_rate(alone: float, waves: int, device: GpuDevice) -> float:
    """Return how many bytes a microsecond brings to a block.

    Args:
        alone: what it gets where few others bring anything.
        waves: tiles of a block.
        device: that the code is for.
    """
    return alone if waves < _SUSTAINED else min(alone, _BRING_ALL / device.multiprocessors)


def exchange(tile: Tile) -> float:
    """Return about how many microseconds the blocks that share a tile take to add up."""
    own = tile.rows * tile.columns // tile.consumers
    return _CLUSTER + _MEMBER * tile.split + own * _EXCHANGE
