# SPDX-License-Identifier: MIT OR Apache-2.0
"""Resizing by interpolation. The coordinates are known at compile time and become tables."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from math import floor

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Iterator as Kind
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.vector_maps import map_vectors
from xyntra.frontends.onnx.folding.record import fold_record
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.nn.resize_phases import ResizePhases, phases_of
from xyntra.frontends.onnx.ops.nn.resize_taps import Filter, ResizedAxis, Taps, taps_of

MAX_SIZE = 2**24
"""Longest dimension of a result; float32 coordinates are exact up to here."""

_UNROLLED = 16
"""Most elements that one output reads in a single pass over several dimensions."""


@handles("Upsample")
def upsample(node: Node) -> Tensor:
    x = node.tensor(0)
    scales = node.attribute("scales")
    if scales is None:
        scales = node.constant(1).reshape(-1).tolist()
    return _resize_legacy(node, x, scales)


@handles("Resize")
def resize(node: Node) -> Tensor:
    x = node.tensor(0)
    if node.opset < 11:
        return _resize_legacy(node, x, node.constant(1).reshape(-1).tolist())
    how = Filter(
        str(node.attribute("mode", "nearest")),
        str(node.attribute("nearest_mode", "round_prefer_floor")),
        float(node.attribute("cubic_coeff_a", -0.75)),
        bool(node.attribute("exclude_outside", 0)),
        bool(node.attribute("antialias", 0)),
    )
    transformation = str(node.attribute("coordinate_transformation_mode", "half_pixel"))
    extrapolation = float(node.attribute("extrapolation_value", 0.0))
    return _resize(node, x, _axes(node, x, transformation), transformation, how, extrapolation)


def _resize_legacy(node: Node, x: Tensor, scales: Sequence[float]) -> Tensor:
    """Resize before opset 11, and Upsample: coordinates are plain quotients."""
    if len(scales) != x.rank:
        raise node.invalid(f"{len(scales)} scales for an input of rank {x.rank}")
    axes = [_scaled(node, size, scale) for size, scale in zip(x.shape, scales, strict=True)]
    how = Filter(str(node.attribute("mode", "nearest")), "simple")
    return _resize(node, x, axes, "asymmetric", how, 0.0)


def _scaled(
    node: Node, size: int, scale: float, start: float = 0.0, end: float = 1.0
) -> ResizedAxis:
    if not 0 < scale < float("inf"):
        raise node.invalid(f"scale {scale} is not positive")
    output = floor(np.float32(size) * np.float32(end - start) * np.float32(scale))
    return ResizedAxis(size, max(output, 0), scale, start, end)


def _axes(node: Node, x: Tensor, transformation: str) -> list[ResizedAxis]:
    """Return what happens to every dimension of `x`."""
    chosen = node.attribute("axes")
    axes = list(range(x.rank)) if chosen is None else [node.axis(int(a), x.rank) for a in chosen]
    given = [node.constant(i).reshape(-1) if node.has(i) else np.zeros(0) for i in (1, 2, 3)]
    roi, scales, sizes = (values.tolist() for values in given)
    if bool(scales) == bool(sizes) and axes:
        raise node.invalid("exactly one of scales and sizes must be given")
    if len(scales or sizes) != len(axes) or len(set(axes)) != len(axes):
        raise node.invalid(f"{len(scales or sizes)} scales or sizes for axes {axes}")
    if transformation != "tf_crop_and_resize":
        roi = []
    if len(roi) not in (0, 2 * len(axes)):
        raise node.invalid(f"the region of interest has {len(roi)} numbers for axes {axes}")
    regions = list(zip(roi[: len(axes)], roi[len(axes) :], strict=True)) or [(0.0, 1.0)] * len(axes)
    result = [ResizedAxis(size, size, 1.0) for size in x.shape]
    wanted = [int(size) for size in sizes]
    targets = _targets(node, [x.shape[axis] for axis in axes], wanted)
    for position, axis in enumerate(axes):
        region, size = regions[position], x.shape[axis]
        if scales:
            result[axis] = _scaled(node, size, scales[position], *region)
        else:
            output, scale, exact = targets[position]
            result[axis] = ResizedAxis(size, output, scale, *region, exact)
    return result


def _targets(
    node: Node, inputs: Sequence[int], sizes: Sequence[int]
) -> list[tuple[int, float, bool]]:
    """Output size, scale and whether the size was given, by resized dimension."""
    if not sizes:
        return []
    if min(sizes) < 0:
        raise node.invalid(f"sizes {list(sizes)} are negative")
    ratios = [
        float(np.float32(wanted) / np.float32(size)) if size else 1.0
        for wanted, size in zip(sizes, inputs, strict=True)
    ]
    policy = str(node.attribute("keep_aspect_ratio_policy", "stretch"))
    if policy == "stretch":
        return [(size, ratio, True) for size, ratio in zip(sizes, ratios, strict=True)]
    if policy not in ("not_larger", "not_smaller"):
        raise node.invalid(f"attribute 'keep_aspect_ratio_policy' is '{policy}'")
    scale = min(ratios) if policy == "not_larger" else max(ratios)
    rounded = [floor(np.float32(scale) * np.float32(size) + 0.5) for size in inputs]
    return [(size, scale, False) for size in rounded]


def _resize(
    node: Node,
    x: Tensor,
    axes: Sequence[ResizedAxis],
    transformation: str,
    how: Filter,
    extrapolation: float,
) -> Tensor:
    if how.mode not in ("nearest", "linear", "cubic"):
        raise node.invalid(f"attribute 'mode' is '{how.mode}'")
    shape = [axis.output for axis in axes]
    if 0 in shape:
        return Tensor(node.b.empty(shape, x.dtype), x.dtype)
    if max(shape) > MAX_SIZE:
        raise node.unsupported(f"a dimension of {max(shape)} elements")
    if 0 in x.shape:
        raise node.invalid(f"an empty input {x.shape} cannot become {tuple(shape)}")
    tables: dict[int, Taps] = {}
    phases: dict[int, ResizePhases] = {}
    for position, axis in enumerate(axes):
        try:
            taps = taps_of(axis, transformation, how)
        except ValueError as error:
            raise node.invalid(str(error)) from None
        if not _is_identity(taps, axis):
            tables[position] = taps
            repeated = phases_of(axis, transformation, how, taps)
            if repeated is not None:
                phases[position] = repeated
    if fold_record().sizes_are_free and phases.keys() == tables.keys():
        result = _by_phases(node.b, x, phases, how)
    else:
        result = _interpolate(node.b, x, tables, how, extrapolation)
    return cast(node.b, result, x.dtype)


def _is_identity(taps: Taps, axis: ResizedAxis) -> bool:
    if axis.size != axis.output or taps.outside.any():
        return False
    dense = np.zeros((axis.output, axis.size))
    np.add.at(dense, (np.arange(axis.output)[:, None], taps.indices), taps.weights)
    return bool(np.array_equal(dense, np.eye(axis.size)))


def _interpolate(
    b: TensorBuilder, x: Tensor, tables: dict[int, Taps], how: Filter, extrapolation: float
) -> Tensor:
    if tables and how.mode == "nearest":
        steps = {axis: _regular_step(x.shape[axis], taps) for axis, taps in tables.items()}
        if all(steps.values()):
            return _repeat(b, x, {axis: step for axis, step in steps.items() if step})
    for group in _passes(tables):
        part = {axis: tables[axis] for axis in group}
        x = _gather(b, x, part, extrapolation, weighted=how.mode != "nearest")
    return x


def _by_phases(b: TensorBuilder, x: Tensor, phases: dict[int, ResizePhases], how: Filter) -> Tensor:
    """Resize without tables of all coordinates, so that sizes can be free."""
    weighted = how.mode != "nearest"
    steps = {axis: each.period for axis, each in phases.items()}
    if not weighted and all(each.step == 1 and not each.offsets.any() for each in phases.values()):
        return _repeat(b, x, steps)
    for group in _passes(phases):
        x = _sum_by_phases(b, x, {axis: phases[axis] for axis in group}, weighted=weighted)
    return x


def _sum_by_phases(
    b: TensorBuilder, x: Tensor, phases: dict[int, ResizePhases], *, weighted: bool
) -> Tensor:
    """The taps of each output of a period written out; periods and their outputs are dimensions."""
    dtype = x.dtype
    if weighted:
        dtype = accumulator_of(x.dtype) if is_float(x.dtype) else "float32"
    wide: list[int] = []
    place: list[int] = []
    for axis, size in enumerate(x.shape):
        place.append(len(wide))
        own = phases.get(axis)
        wide += [size] if own is None else [size // own.step, own.period]
    vectors = []
    for axis, each in phases.items():
        for tap in range(each.count):
            columns = [each.offsets[:, tap].astype(np.int64)]
            columns += [each.weights[:, tap].astype(dtype)] if weighted else []
            vectors += [(b.constant(column), place[axis] + 1) for column in columns]

    def body(*scalars: Scalar) -> Scalar:
        rest = iter(scalars)
        taps: dict[int, list[_Tap]] = {}
        for axis, each in phases.items():
            start = b.index(place[axis]).cast("int64") * each.step
            taps[axis] = []
            for _ in range(each.count):
                index = (start + next(rest)).maximum(0).minimum(x.shape[axis] - 1)
                taps[axis].append((index.cast("index"), next(rest) if weighted else None))
        return _sum_of_taps(b, x, dtype, taps, [b.index(d) for d in place], list(taps))

    result = map_vectors(b, body, vectors, wide, dtype)
    shape = [
        size // phases[axis].step * phases[axis].period if axis in phases else size
        for axis, size in enumerate(x.shape)
    ]
    return b.reshape(result, shape)


def _regular_step(size: int, taps: Taps) -> int | None:
    """Return how often every element is repeated, where all are repeated equally often."""
    step, rest = divmod(taps.indices.shape[0], size)
    if rest or taps.outside.any():
        return None
    regular = np.arange(size * step) // step
    return step if np.array_equal(taps.indices[:, 0], regular) else None


def _repeat(b: TensorBuilder, x: Tensor, steps: dict[int, int]) -> Tensor:
    """Every element repeated along dimensions, read through an affine map."""
    shape = [size * steps.get(axis, 1) for axis, size in enumerate(x.shape)]
    return b.view(
        x, shape, lambda *d: [_quotient(e, steps.get(axis, 1)) for axis, e in enumerate(d)]
    )


def _quotient(index: ir.AffineExpr, step: int) -> ir.AffineExpr:
    return index if step == 1 else ir.AffineExpr.get_floor_div(index, step)


def _passes(tables: Mapping[int, Taps | ResizePhases]) -> list[list[int]]:
    """Dimensions that are interpolated together: few taps at once, long filters one by one."""
    groups: list[list[int]] = []
    taps = _UNROLLED + 1
    for axis, table in tables.items():
        if taps * table.count > _UNROLLED:
            groups.append([])
            taps = 1
        groups[-1].append(axis)
        taps *= table.count
    return groups


def _gather(
    b: TensorBuilder, x: Tensor, tables: dict[int, Taps], extrapolation: float, *, weighted: bool
) -> Tensor:
    """Resize the dimensions of `tables` in one pass."""
    dtype = x.dtype
    if weighted:
        dtype = accumulator_of(x.dtype) if is_float(x.dtype) else "float32"
    shape = [tables[d].indices.shape[0] if d in tables else n for d, n in enumerate(x.shape)]
    longest = max(tables, key=lambda axis: tables[axis].count)
    if tables[longest].count > _UNROLLED:
        result = _sum_in_loop(b, x, longest, tables[longest], shape, dtype)
    else:
        result = _sum_unrolled(b, x, tables, shape, dtype, weighted=weighted)
    outside = [(b.constant(t.outside), axis) for axis, t in tables.items() if t.outside.any()]
    if not outside:
        return result

    def replace(value: Scalar, *masks: Scalar) -> Scalar:
        return reduce(lambda x, y: x | y, masks).select(constant(extrapolation, dtype), value)

    return map_vectors(b, replace, outside, shape, dtype, whole=[result])


def _sum_unrolled(
    b: TensorBuilder,
    x: Tensor,
    tables: dict[int, Taps],
    shape: Sequence[int],
    dtype: str,
    *,
    weighted: bool,
) -> Tensor:
    """All taps of an output written out, over one or more dimensions."""
    vectors = [
        (b.constant(column), axis)
        for axis, taps in tables.items()
        for column in _columns(taps, dtype if weighted else None)
    ]

    def body(*scalars: Scalar) -> Scalar:
        rest = iter(scalars)
        taps = {
            axis: [
                (next(rest).cast("index"), next(rest) if weighted else None)
                for _ in range(table.count)
            ]
            for axis, table in tables.items()
        }
        return _sum_of_taps(b, x, dtype, taps, [b.index(d) for d in range(x.rank)], list(taps))

    return map_vectors(b, body, vectors, shape, dtype)


def _columns(taps: Taps, dtype: str | None) -> Iterator[np.ndarray]:
    """Indices of a tap, then its weights unless `dtype` is None, then those of the next tap."""
    for i in range(taps.count):
        yield taps.indices[:, i]
        if dtype is not None:
            yield taps.weights[:, i].astype(dtype)


_Tap = tuple[Scalar, Scalar | None]


def _sum_of_taps(
    b: TensorBuilder,
    x: Tensor,
    dtype: str,
    taps: dict[int, list[_Tap]],
    position: list[Scalar],
    axes: Sequence[int],
) -> Scalar:
    """The weighted sum over the taps of `axes`, the other dimensions being fixed at `position`."""
    if not axes:
        return b.extract(x, position).cast(dtype)
    terms = []
    for index, weight in taps[axes[0]]:
        moved = [index if d == axes[0] else p for d, p in enumerate(position)]
        term = _sum_of_taps(b, x, dtype, taps, moved, axes[1:])
        terms.append(term if weight is None else term * weight)
    return reduce(lambda x, y: x + y, terms)


def _sum_in_loop(
    b: TensorBuilder, x: Tensor, axis: int, taps: Taps, shape: Sequence[int], dtype: str
) -> Tensor:
    """The taps of one dimension as a reduction."""
    loops = len(shape) + 1
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(loops)]
        read = ir.AffineMap.get(loops, 0, [d[axis], d[-1]])
        write = ir.AffineMap.get(loops, 0, d[:-1])
    tables = [b.constant(taps.indices), b.constant(taps.weights.astype(dtype))]

    def body(index: Scalar, weight: Scalar, running: Scalar) -> Scalar:
        at = [index.cast("index") if i == axis else b.index(i) for i in range(x.rank)]
        return running + b.extract(x, at).cast(dtype) * weight

    iterators: list[Kind] = ["parallel"] * len(shape)
    return b.generic(
        [(table, read) for table in tables],
        [(b.fill(shape, dtype, 0), dtype, write)],
        [*iterators, "reduction"],
        body,
    )[0]
