# SPDX-License-Identifier: MIT OR Apache-2.0
"""Implicit-GEMM convolutions by wgmma: TMA gathers the left operand from the image (im2col mode).

Rows are output positions, one behind the other through rows and images; a stage holds some channels
of one tap of the filter. TMA finds the pixels of a tile itself, with zeros for those outside of the
image (PTX ISA, "im2col mode"): a copy is given the pixel that the first tap meets at the tile's
first output, and the offset of the tap.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.cuda.matmul.tile_order import TileOrder
from xyntra.passes.lower.cuda.matmul.wgmma.conv_factors import (
    GatheredFilter,
    GatheredImage,
    TapStages,
)
from xyntra.passes.lower.cuda.matmul.wgmma.plan import WgmmaPlan
from xyntra.passes.lower.cuda.matmul.wgmma.results import Results
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import (
    BLOCK,
    SWIZZLE,
    TILES,
    Tile,
    bring_rate,
    depth,
    exchange,
    shares,
    tensor_map,
)
from xyntra.passes.lower.gpu.contraction.product import BatchedMatmul, Dimension
from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis, image_axes
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import view_offset

_TILES = (*TILES, *(Tile(64, 64, split=split) for split in (2, 4, 8)))
_MAX_AXES = 3
_CORNERS = {1: 1 << 15, 2: 1 << 7, 3: 1 << 4}  # by number of axes: bounds of a corner
_OFFSETS = {1: 1 << 16, 2: 1 << 8, 3: 1 << 5}  # of a tap's offset
_MAX_STEP = 8
_ALIGNMENT = 16  # bytes
# Fitted to 339 launches of ResNet-50's convolutions at three sizes of batch on one H100, which they
# meet within 9 %; the tiles that they choose take 0.6 % longer than the best ones. What all blocks
# bring from L2 together bounds long ones: 12288x320x5760 took 140 us by tiles of 64x128.
_LAUNCH = 1.9  # microseconds
_TILE = 0.41  # microseconds, of every tile of a block
_MULTIPLY = 3.8e6  # products in a microsecond
_PIXEL = 2.0e-3  # microseconds, of a pixel that TMA gathers
_NARROW_PIXEL = 7.0e-3  # of one that is less than 128 bytes from the next
_BRING = 160e3  # bytes in a microsecond
_WRITE, _READ = 6.2e-5, 7.3e-5  # microseconds, of an element of a tile, and of one that it adds


def plan_convolution(
    product: BatchedMatmul,
    device: GpuDevice,
    epilogue: Epilogue | None,
    windows: Sequence[ImagePosition],
    tile: Tile | None = None,
) -> WgmmaPlan | None:
    """Return how warpgroups compute a convolution; None where TMA cannot gather its factors.

    Args:
        product: the convolution, with the image as left factor.
        device: that the code is for.
        epilogue: what happens to each element before it is stored, if anything.
        windows: dimensions in which the image may be read outside of its memory.
        tile: how the product is cut; None to choose.
    """
    nest, image = product.nest, product.left
    deep = [loop for loop in product.depth if image.strides[loop] == 1]
    rest = [loop for loop in product.depth if loop not in deep]
    axes = image_axes(nest, image, product.rows, rest, windows) if len(deep) == 1 else None
    if axes is None or not _shifts_only(product, axes):
        return None
    channels = depth(product)
    loops = tuple((axis.tap, axis.taps) for axis in axes if axis.tap is not None)
    taps = TapStages(loops, -(-nest.loops[deep[0]].extent // channels), channels)
    tiles = _TILES if tile is None else (tile,)
    orders = [TileOrder(product, each) for each in tiles]
    times = {
        order.tile: microseconds(order, epilogue, taps, device)
        for order in orders
        if order.tile.split == 1 or shares(order.tile, order.count, taps.steps)
    }
    for each in sorted(times, key=lambda each: times[each]):
        left = _image(product, axes, deep[0], taps, each)
        right = _weights(product, deep[0], taps, each)
        results = Results.of(product, epilogue, each)
        if left is None or right is None or results is None:
            return None
        order, time = TileOrder(product, each), times[each]
        plan = WgmmaPlan(device, order, left, right, ((0, results),), taps.steps, time)
        if plan.fits or tile is not None:
            return plan
    return None


def microseconds(
    order: TileOrder, epilogue: Epilogue | None, taps: TapStages, device: GpuDevice
) -> float:
    """Return about how long a convolution takes.

    Args:
        order: of the tiles.
        epilogue: what happens to each element before it is stored, if anything.
        taps: stages of the reduction.
        device: that the code is for.
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
    waves = -(-order.count // device.multiprocessors)
    bring = bring_rate(_BRING, hint_of(waves), device)
    stage = max(multiply, gather, tile.stage_bytes / bring)
    results = _TILE + elements * (_WRITE + read * _READ)
    if tile.split > 1:
        own = -(-taps.steps // tile.split)
        return _LAUNCH + own * stage + exchange(tile) + results / tile.split
    return _LAUNCH + waves * (taps.steps * stage + results)


def _image(
    product: BatchedMatmul, axes: Sequence[ImageAxis], deep: int, taps: TapStages, tile: Tile
) -> GatheredImage | None:
    nest, access = product.nest, product.left
    last = axes[-1] if len(axes) > 1 and axes[-1].is_plain else None
    spatial = [axis for axis in axes if axis is not last]
    if not _fits(spatial, nest):
        return None
    start = access.offset - sum(axis.first * axis.stride for axis in spatial)
    channels = Dimension(nest.loops[deep].extent, 1)
    dimensions = [channels, *(Dimension(axis.size, axis.stride) for axis in axes)]
    if last is None:
        dimensions.append(Dimension(1, _ALIGNMENT))
    moved = BufferOperand(access.value, start, access.strides)
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
    return GatheredImage(tuple(spatial), last, taps, found)


def _shifts_only(product: BatchedMatmul, axes: Sequence[ImageAxis]) -> bool:
    """Tell whether loops of the batch shift the image, and choose weights."""
    shifts = [loop for axis in axes for loop, _ in axis.shifts]
    return sorted(shifts) == sorted(product.batch)


def _most_shifted(axis: ImageAxis, nest: LinearNest) -> int:
    return sum((nest.loops[loop].extent - 1) * positions for loop, positions in axis.shifts)


def _fits(axes: Sequence[ImageAxis], nest: LinearNest) -> bool:
    """Tell whether a tensor map can describe so many axes, steps and distances."""
    count = len(axes)
    if not 1 <= count <= _MAX_AXES:
        return False
    corner, offset = _CORNERS[count], _OFFSETS[count]
    return all(
        all(-corner <= each < corner for each in axis.corners)
        and (axis.taps - 1) * axis.spread + _most_shifted(axis, nest) < offset
        and axis.step <= _MAX_STEP
        and axis.spread > 0
        for axis in axes
    )


def _weights(
    product: BatchedMatmul, deep: int, taps: TapStages, tile: Tile
) -> GatheredFilter | None:
    nest, access = product.nest, product.right
    columns = product.dimensions(access, product.columns)
    channels = Dimension(nest.loops[deep].extent, access.strides[deep])
    others, loops = _besides_columns(product, taps)
    if len(columns) != 1:
        return None
    if channels.stride == 1:
        dimensions = [channels, *others, columns[0]]
        found = tensor_map(access, dimensions, (taps.channels, 1), product.element)
        box = (taps.channels, *[1] * len(others), tile.columns)
        return (
            None if found is None else GatheredFilter(True, taps, loops, replace(found, box=box), 1)
        )
    if product.element == "tf32":
        return None  # the hardware transposes 16-bit elements alone
    found = tensor_map(access, [columns[0], channels, *others], (BLOCK, BLOCK), product.element)
    return (
        None if found is None else GatheredFilter(False, taps, loops, found, tile.columns // BLOCK)
    )


def _besides_columns(
    product: BatchedMatmul, taps: TapStages
) -> tuple[list[Dimension], tuple[tuple[tuple[int, int], ...], ...]]:
    """Return further dimensions of weights, and of each the loops with how far a step moves.

    Of a batch there are more loops than a tensor map has dimensions: neighbours are one.
    """
    nest, strides = product.nest, product.right.strides
    dimensions = [Dimension(extent, strides[loop]) for loop, extent in taps.loops]
    members: list[tuple[tuple[int, int], ...]] = [((loop, 1),) for loop, _ in taps.loops]
    if not product.batch:
        return dimensions, tuple(members)
    dimensions, members = [], []
    loops = [*(loop for loop, _ in taps.loops), *product.batch]
    for loop in sorted(loops, key=lambda each: strides[each]):
        extent, last = nest.loops[loop].extent, dimensions[-1] if dimensions else None
        if last is not None and strides[loop] == last.stride * last.extent:
            dimensions[-1] = Dimension(last.extent * extent, last.stride)
            members[-1] = (*members[-1], (loop, last.extent))
        else:
            dimensions.append(Dimension(extent, strides[loop]))
            members.append(((loop, 1),))
    return dimensions, tuple(members)
