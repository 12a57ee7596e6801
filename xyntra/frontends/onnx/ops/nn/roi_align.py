# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sampling at positions that are computed: regions of interest and deformable convolutions."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from math import prod

from torch_mlir import ir

from xyntra.dialects.builder import Iterator as Kind
from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.reductions import Reduction, combine, identity_of
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, add_channel_bias, cast
from xyntra.frontends.onnx.ops.nn.window import Window, kernel_of_weight, read_window

_Corner = tuple[list[Scalar], Scalar, Scalar]
"""Address of a pixel, its weight, and whether it exists."""


def _corners(y: Scalar, x: Scalar, sizes: tuple[int, ...]) -> Iterator[_Corner]:
    """The four pixels around (y, x), at addresses that always exist."""
    one = constant(1, y.dtype)
    floors = [v.math("floor") for v in (y, x)]
    parts = [v - low for v, low in zip((y, x), floors, strict=True)]
    for dy in (0, 1):
        for dx in (0, 1):
            weight, inside, address = one, constant(True, "bool"), []
            for step, low, part, size in zip((dy, dx), floors, parts, sizes, strict=True):
                at = low + step
                weight = weight * (part if step else one - part)
                inside = inside & (at >= 0) & (at < size)
                address.append(at.cast("int64").maximum(0).minimum(size - 1).cast("index"))
            yield address, weight, inside


@handles("RoiAlign")
def roi_align(node: Node) -> Tensor:
    x, rois, batches = node.tensor(0), node.tensor(1), node.tensor(2)
    if x.rank != 4 or rois.shape != (rois.shape[0], 4) or batches.shape != rois.shape[:1]:
        raise node.invalid(f"shapes {x.shape}, {rois.shape} and {batches.shape} do not fit")
    samples = int(node.attribute("sampling_ratio", 0))
    if samples < 1:
        raise node.unsupported("sampling_ratio 0, where the regions decide the number of samples")
    mode = str(node.attribute("mode", "avg"))
    if mode not in ("avg", "max"):
        raise node.invalid(f"attribute 'mode' is '{mode}'")
    kind: Reduction = "sum" if mode == "avg" else "max"
    wide = accumulator_of(x.dtype)
    result = _pool_regions(node, (x, rois, batches), samples, kind, wide)
    scale = 1 if mode == "max" else samples * samples
    return node.b.map(lambda v: (v / scale).cast(x.dtype), result, dtype=x.dtype)


def _pool_regions(
    node: Node, inputs: tuple[Tensor, Tensor, Tensor], samples: int, kind: Reduction, wide: str
) -> Tensor:
    """Loops: region, channel, bin row and column, and the samples of a bin, which are combined."""
    (x, rois, batches), b = inputs, node.b
    bins = [int(node.attribute(f"output_{side}", 1)) for side in ("height", "width")]
    if min(bins) < 1:
        raise node.invalid(f"a result of {bins[0]} x {bins[1]} bins")
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(6)]
        columns = [ir.AffineMap.get(6, 0, [d[0], ir.AffineConstantExpr.get(i)]) for i in range(4)]
        region, taps_map = ir.AffineMap.get(6, 0, d[:1]), ir.AffineMap.get(6, 0, d[4:])
        write = ir.AffineMap.get(6, 0, d[:4])
    taps = Tensor(b.empty((samples, samples), "int8"), "int8")

    def body(*scalars: Scalar) -> Scalar:
        left, top, right, bottom = (s.cast(wide) for s in scalars[:4])
        image, running = scalars[4], scalars[-1]
        y = _sample(node, top, bottom, 0, samples, bins)
        x_ = _sample(node, left, right, 1, samples, bins)
        batch = image.maximum(0).minimum(x.shape[0] - 1).cast("index")
        return combine(kind, running, _interpolated(node, x, (batch, y, x_), kind, wide))

    shape = [rois.shape[0], x.shape[1], *bins]
    reads = [(rois, column) for column in columns]
    iterators: list[Kind] = ["parallel"] * 4
    return b.generic(
        [*reads, (batches, region), (taps, taps_map)],
        [(b.fill(shape, wide, identity_of(kind, wide)), wide, write)],
        [*iterators, "reduction", "reduction"],
        body,
    )[0]


def _sample(
    node: Node, start: Scalar, end: Scalar, axis: int, samples: int, bins: list[int]
) -> Scalar:
    """The coordinate of the current sample along one dimension."""
    scale = float(node.attribute("spatial_scale", 1.0))
    mode = str(node.attribute("coordinate_transformation_mode", "half_pixel"))
    aligned = mode == "half_pixel" and node.opset >= 16
    shift = 0.5 if aligned else 0.0
    first, last = start * scale - shift, end * scale - shift
    extent = last - first if aligned else (last - first).maximum(1)
    size = extent / bins[axis]
    bin_, tap = (node.b.index(i + axis).cast("int64").cast(start.dtype) for i in (2, 4))
    return first + bin_ * size + (tap + 0.5) * size / samples


def _interpolated(
    node: Node, x: Tensor, at: tuple[Scalar, Scalar, Scalar], kind: Reduction, wide: str
) -> Scalar:
    """The pixel at a position: beyond the border by more than one it is zero.

    For maxima, the largest of the four weighted neighbours, as the operator's reference has it.
    """
    batch, *position = at
    sizes = x.shape[2:]
    outside, clamped = constant(False, "bool"), []
    for v, size in zip(position, sizes, strict=True):
        outside = outside | (v < -1) | (v > size)
        clamped.append(v.maximum(0).minimum(size - 1))
    terms = [
        node.b.extract(x, [batch, node.b.index(1), *address]).cast(wide) * weight
        for address, weight, _ in _corners(clamped[0], clamped[1], sizes)
    ]
    value = reduce(lambda a, c: combine(kind, a, c), terms)
    return outside.select(constant(0, wide), value)


@handles("DeformConv")
def deform_conv(node: Node) -> Tensor:
    x, weight, offset = node.tensor(0), node.tensor(1), node.tensor(2)
    if x.rank != 4 or weight.rank != 4 or offset.rank != 4:
        raise node.unsupported(f"deformable convolution of an input {x.shape}")
    groups, offset_groups = (int(node.attribute(n, 1)) for n in ("group", "offset_group"))
    if min(groups, offset_groups) < 1 or weight.shape[0] % groups or x.shape[1] % offset_groups:
        raise node.invalid(f"channels do not split into {groups} and {offset_groups} groups")
    if x.shape[1] != weight.shape[1] * groups:
        raise node.invalid(f"input {x.shape} and weight {weight.shape} do not fit")
    window = read_window(node, x.shape[2:], kernel_of_weight(node, weight.shape))
    taps, places = prod(window.kernel), prod(window.output)
    fields = [(offset, 2)] + ([(node.tensor(4), 1)] if node.has(4) else [])
    for tensor, parts in fields:
        shape = (x.shape[0], offset_groups * taps * parts, *window.output)
        if tensor.shape != shape:
            raise node.invalid(f"an offset or mask has shape {tensor.shape}, expected {shape}")
    b, wide = node.b, accumulator_of(x.dtype)
    columns = _deformed_columns(node, x, offset_groups, window, wide)
    columns = b.reshape(columns, [x.shape[0], groups, weight.shape[1], taps, places])
    kernel = b.reshape(weight, [groups, weight.shape[0] // groups, weight.shape[1], taps])
    result = b.einsum("ngctp,gmct->ngmp", columns, kernel, wide)
    result = b.reshape(result, [x.shape[0], weight.shape[0], *window.output])
    return cast(b, add_channel_bias(node, result, 3, x.dtype), x.dtype)


def _deformed_columns(
    node: Node, x: Tensor, offset_groups: int, window: Window, dtype: str
) -> Tensor:
    """The input under every tap, [batch, channel, tap row, tap column, row, column]."""
    b, share = node.b, x.shape[1] // offset_groups
    lead = [x.shape[0], offset_groups, *window.kernel]
    offsets = b.reshape(node.tensor(2), [*lead, 2, *window.output])
    masks = b.reshape(node.tensor(4), [*lead, *window.output]) if node.has(4) else None
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(6)]
        group = ir.AffineExpr.get_floor_div(d[1], share)
        fixed = [ir.AffineConstantExpr.get(i) for i in range(2)]
        reads = [
            (offsets, ir.AffineMap.get(6, 0, [d[0], group, d[2], d[3], part, d[4], d[5]]))
            for part in fixed
        ]
        if masks is not None:
            reads.append((masks, ir.AffineMap.get(6, 0, [d[0], group, *d[2:]])))

    def body(*scalars: Scalar) -> Scalar:
        position = []
        for axis in range(2):
            place = b.index(4 + axis) * window.strides[axis] - window.low[axis]
            place = place + b.index(2 + axis) * window.dilations[axis]
            position.append(place.cast("int64").cast(dtype) + scalars[axis].cast(dtype))
        terms = [
            inside.select(b.extract(x, [b.index(0), b.index(1), *at]).cast(dtype), 0) * weight
            for at, weight, inside in _corners(position[0], position[1], x.shape[2:])
        ]
        value = reduce(lambda a, c: a + c, terms)
        return value * scalars[2].cast(dtype) if masks is not None else value

    shape = [*x.shape[:2], *window.kernel, *window.output]
    output = (b.empty(shape, dtype), dtype, b.identity(6))
    return b.generic(reads, [output], ["parallel"] * 6, body)[0]
