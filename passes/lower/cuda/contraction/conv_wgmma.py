# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions on Hopper's tensor cores: products whose left factor TMA gathers from an image.

Rows are output positions, one behind the other through rows and images; a stage holds some channels
of one tap of the filter. TMA finds the pixels of a tile itself, with zeros for those outside of the
image (PTX ISA, "im2col mode"): a copy is given the pixel that the first tap meets at the tile's
first output, and the offset of the tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.epilogue import Epilogue
from xyntra.passes.lower.cpu.linear_nest import Access
from xyntra.passes.lower.cpu.memrefs import view_offset
from xyntra.passes.lower.cuda.contraction.image_axes import ImageAxis, image_axes
from xyntra.passes.lower.cuda.contraction.implicit_padding import Window
from xyntra.passes.lower.cuda.contraction.plan_wgmma import WgmmaPlan
from xyntra.passes.lower.cuda.contraction.product import Dimension, Product
from xyntra.passes.lower.cuda.contraction.tile_order import TileOrder
from xyntra.passes.lower.cuda.contraction.wgmma_factor import StagePlace, StageTarget
from xyntra.passes.lower.cuda.contraction.wgmma_ops import copy_in, copy_pixels, pointer
from xyntra.passes.lower.cuda.contraction.wgmma_plan import (
    BLOCK,
    BLOCK_BYTES,
    MULTIPROCESSORS,
    SWIZZLE,
    TILES,
    Tile,
    depth,
    exchange,
    shares,
    tensor_map,
)
from xyntra.passes.lower.cuda.contraction.wgmma_results import Results
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.cuda.thread_grid import i32

_TILES = (*TILES, *(Tile(64, 64, split=split) for split in (2, 4, 8)))
_MAX_AXES = 3
_CORNERS = {1: 1 << 15, 2: 1 << 7, 3: 1 << 4}  # by number of axes: bounds of a corner
_OFFSETS = {1: 1 << 16, 2: 1 << 8, 3: 1 << 5}  # of a tap's offset
_MAX_STEP = 8
_ALIGNMENT = 16  # bytes
# Fitted to 339 launches of ResNet-50's convolutions at three sizes of batch on one H100, which they
# meet within 9 %; the tiles that they choose take 0.6 % longer than the best ones.
_LAUNCH = 1.9  # microseconds
_TILE = 0.41  # microseconds, of every tile of a block
_MULTIPLY = 3.8e6  # products in a microsecond
_PIXEL = 2.0e-3  # microseconds, of a pixel that TMA gathers
_NARROW_PIXEL = 7.0e-3  # of one that is less than 128 bytes from the next
_BRING = 160e3  # bytes in a microsecond
_WRITE, _READ = 6.2e-5, 7.3e-5  # microseconds, of an element of a tile, and of one that it adds


@dataclass(frozen=True)
class Taps:
    """The stages of the reduction: for every tap of the filter, the channels by parts.

    Attributes:
        loops: of the taps, with extents.
        parts: of the channels.
        channels: of one part.
    """

    loops: tuple[tuple[int, int], ...]
    parts: int
    channels: int

    @property
    def steps(self) -> int:
        """Stages in all."""
        count = self.parts
        for _, extent in self.loops:
            count *= extent
        return count

    def at(self, step: ir.Value) -> tuple[ir.Value, dict[int, ir.Value]]:
        """Return the first channel of a stage, and the number of its tap in every loop, i32s."""
        first = arith.muli(arith.remui(step, i32(self.parts)), i32(self.channels))
        rest = arith.divui(step, i32(self.parts))
        numbers = {}
        for place, (loop, extent) in enumerate(self.loops):
            is_last = place == len(self.loops) - 1
            numbers[loop] = rest if is_last else arith.remui(rest, i32(extent))
            rest = arith.divui(rest, i32(extent))
        return first, numbers


@dataclass(frozen=True)
class Image:
    """The image as TMA gathers it.

    Attributes:
        axes: its dimensions, but for channels and the last one.
        last: the dimension that has no taps: images of a batch; None for a single one.
        taps: of the filter.
        map: of the tensor.
    """

    axes: tuple[ImageAxis, ...]
    last: ImageAxis | None
    taps: Taps
    map: TensorMap
    is_deep: bool = True

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copy of one stage."""
        channel, taps = self.taps.at(place.step)
        short = ir.IntegerType.get_signless(16)
        places, offsets, rest = [], [], place.first
        for axis in self.axes:
            own: ir.Value = i32(0)
            if axis.row is not None:
                own = arith.remui(rest, i32(axis.outputs))
                rest = arith.divui(rest, i32(axis.outputs))
            places.append(arith.addi(arith.muli(own, i32(axis.step)), i32(axis.first)))
            moved: ir.Value = i32(0)
            if axis.tap is not None:
                moved = arith.muli(taps[axis.tap], i32(axis.spread))
            offsets.append(arith.trunci(short, moved))
        places.append(rest)
        copy_pixels(pointer(stage.target), stage.tensor, [channel, *places], offsets, stage.full)


@dataclass(frozen=True)
class Weights:
    """The filter as TMA copies it.

    Attributes:
        is_deep: channels are neighbours in memory; else columns are.
        taps: of the filter.
        map: of the tensor: channels and columns, with the taps behind both or between them.
        copies: of which a stage needs as many.
    """

    is_deep: bool
    taps: Taps
    map: TensorMap
    copies: int

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copies of one stage."""
        channel, numbers = self.taps.at(place.step)
        taps = [numbers[loop] for loop, _ in self.taps.loops]
        for number in range(self.copies):
            target = pointer(arith.addi(stage.target, i32(number * BLOCK_BYTES)))
            column = arith.addi(place.first, i32(number * BLOCK))
            corner = [channel, *taps, column] if self.is_deep else [column, channel, *taps]
            copy_in(target, stage.tensor, corner, stage.full)


def plan_convolution(
    product: Product,
    epilogue: Epilogue | None,
    windows: Sequence[Window],
    tile: Tile | None = None,
) -> WgmmaPlan | None:
    """Return how warpgroups compute a convolution; None where TMA cannot gather its factors.

    Args:
        product: the convolution, with the image as left factor.
        epilogue: what happens to each element before it is stored, if anything.
        windows: dimensions in which the image may be read outside of its memory.
        tile: how the product is cut; None to choose.
    """
    nest, image = product.nest, product.left
    deep = [loop for loop in product.depth if image.strides[loop] == 1]
    rest = [loop for loop in product.depth if loop not in deep]
    axes = image_axes(nest, image, product.rows, rest, windows) if len(deep) == 1 else None
    if axes is None or product.batch:
        return None
    channels = depth(product)
    loops = tuple((axis.tap, axis.taps) for axis in axes if axis.tap is not None)
    taps = Taps(loops, -(-nest.loops[deep[0]].extent // channels), channels)
    tiles = _TILES if tile is None else (tile,)
    orders = [TileOrder(product, each) for each in tiles]
    times = {
        order.tile: microseconds(order, epilogue, taps)
        for order in orders
        if order.tile.split == 1 or shares(order.tile, order.count, taps.steps)
    }
    if not times:
        return None
    tile = min(times, key=lambda each: times[each])
    left = _image(product, axes, deep[0], taps, tile)
    right = _weights(product, deep[0], taps, tile)
    results = Results.of(product, epilogue, tile)
    if left is None or right is None or results is None:
        return None
    order = TileOrder(product, tile)
    return WgmmaPlan(order, left, right, ((0, results),), taps.steps, times[tile])


def microseconds(order: TileOrder, epilogue: Epilogue | None, taps: Taps) -> float:
    """Return about how long a convolution takes on a large device.

    Args:
        order: of the tiles.
        epilogue: what happens to each element before it is stored, if anything.
        taps: stages of the reduction.
    """
    product, tile = order.product, order.tile
    inputs = () if epilogue is None else epilogue.inputs
    read = sum(
        1
        for each in inputs
        if each is not None and any(each.strides[loop] for loop in product.rows)
    )
    elements = tile.rows * tile.columns
    pixel = min((step for step in product.left.strides if step > 1), default=SWIZZLE)
    wide = pixel * product.item_bytes >= SWIZZLE
    gather = tile.rows * (_PIXEL if wide else _NARROW_PIXEL)
    multiply = elements * taps.channels / _MULTIPLY
    stage = max(multiply, gather, tile.stage_bytes / _BRING)
    results = _TILE + elements * (_WRITE + read * _READ)
    if tile.split > 1:
        own = -(-taps.steps // tile.split)
        return _LAUNCH + own * stage + exchange(tile) + results / tile.split
    waves = -(-order.count // MULTIPROCESSORS)
    return _LAUNCH + waves * (taps.steps * stage + results)


def _image(
    product: Product, axes: Sequence[ImageAxis], deep: int, taps: Taps, tile: Tile
) -> Image | None:
    nest, access = product.nest, product.left
    last = axes[-1] if len(axes) > 1 and axes[-1].is_plain else None
    spatial = [axis for axis in axes if axis is not last]
    if not _fits(spatial):
        return None
    start = access.offset - sum(axis.first * axis.stride for axis in spatial)
    channels = Dimension(nest.loops[deep].extent, 1)
    dimensions = [channels, *(Dimension(axis.size, axis.stride) for axis in axes)]
    if last is None:
        dimensions.append(Dimension(1, _ALIGNMENT))
    moved = Access(access.value, start, access.strides)
    found = tensor_map(moved, dimensions, (taps.channels, tile.rows), product.element)
    if found is None or start + view_offset(access.value) < 0:
        return None
    corners = [axis.corners for axis in spatial]
    found = replace(
        found,
        box=found.box[:2],
        lower=tuple(low for low, _ in corners),
        upper=tuple(high for _, high in corners),
        steps=(1, *(axis.step for axis in spatial), 1),
    )
    return Image(tuple(spatial), last, taps, found)


def _fits(axes: Sequence[ImageAxis]) -> bool:
    """Tell whether a tensor map can describe so many axes, steps and distances."""
    count = len(axes)
    if not 1 <= count <= _MAX_AXES:
        return False
    corner, offset = _CORNERS[count], _OFFSETS[count]
    return all(
        all(-corner <= each < corner for each in axis.corners)
        and (axis.taps - 1) * axis.spread < offset
        and axis.step <= _MAX_STEP
        and axis.spread > 0
        for axis in axes
    )


def _weights(product: Product, deep: int, taps: Taps, tile: Tile) -> Weights | None:
    nest, access = product.nest, product.right
    columns = product.dimensions(access, product.columns)
    channels = Dimension(nest.loops[deep].extent, access.strides[deep])
    others = [Dimension(extent, access.strides[loop]) for loop, extent in taps.loops]
    if len(columns) != 1:
        return None
    if channels.stride == 1:
        dimensions = [channels, *others, columns[0]]
        box = (taps.channels, *[1] * len(others), tile.columns)
        found = tensor_map(access, dimensions, box[:2], product.element)
        return found and Weights(True, taps, replace(found, box=box), 1)
    if product.element == "tf32":
        return None  # the hardware transposes 16-bit elements alone
    found = tensor_map(access, [columns[0], channels, *others], (BLOCK, BLOCK), product.element)
    return found and Weights(False, taps, found, tile.columns // BLOCK)
