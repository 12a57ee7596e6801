# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling over windows and over whole images."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.pooling import Windows, slide
from xyntra.dialects.tensors.reductions import Reduction, identity_of
from xyntra.frontends.onnx.folding.record import fold_record
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.nn.window import Window, read_window, spatial_attribute

_FEW_TAPS = 16
"""Taps of a window whose place of the maximum is found without a loop over taps."""


def _image(node: Node) -> Tensor:
    x = node.tensor(0)
    if x.rank < 3:
        raise node.invalid(f"the input {x.shape} has no spatial dimensions")
    return x


def _window(node: Node, x: Tensor) -> Window:
    node.required("kernel_shape")
    kernel = spatial_attribute(node, "kernel_shape", x.rank - 2, 1, 1)
    ceil_mode = bool(node.attribute("ceil_mode", 0))
    return read_window(node, x.shape[2:], kernel, ceil_mode=ceil_mode)


def _nothing(node: Node, x: Tensor, window: Window, dtype: str) -> Tensor:
    """The result of windows that do not fit into the input even once."""
    return Tensor(node.b.empty([*x.shape[:2], *window.output], dtype), dtype)


def _windows(window: Window) -> Windows:
    return Windows(window.kernel, window.strides, window.dilations, window.output)


@handles("MaxPool")
def max_pool(node: Node) -> Sequence[Tensor]:
    x = _image(node)
    window = _window(node, x)
    if 0 in window.output:
        return [_nothing(node, x, window, dtype) for dtype in (x.dtype, "int64")]
    padded = window.pad(node.b, x, identity_of("max", x.dtype))
    if len(node.proto.output) < 2 or not node.proto.output[1]:
        return [slide(node.b, padded, _windows(window), "max")]
    return _max_pool_with_indices(node, x, padded, window)


def _max_pool_with_indices(node: Node, x: Tensor, padded: Tensor, window: Window) -> list[Tensor]:
    """Maxima and where they are, as positions in the flat input.

    Of equal ones it is the first, and of several that are no number the last, as in PyTorch.
    """
    b, sizes = node.b, x.shape[2:]
    if _may_unroll(x, window):
        return [slide(b, padded, _windows(window), "max"), _places_by_taps(node, x, padded, window)]

    def position() -> tuple[Scalar, Scalar]:
        flat = b.index(0) * x.shape[1] + b.index(1)
        inside = constant(True, "bool")
        for i, size in enumerate(sizes):
            tap = b.index(2 + i) * window.strides[i]
            tap = tap + b.index(2 + len(sizes) + i) * window.dilations[i] - window.low[i]
            index = tap.cast("int64")
            inside = inside & (index >= 0) & (index < size)
            flat = flat * size + tap
        return flat.cast("int64"), inside

    def body(value: Scalar, largest: Scalar, where: Scalar) -> list[Scalar]:
        flat, inside = position()
        better = (value > largest) | (value.equals(largest) & (flat < where)) | (where < 0)
        if "float" in x.dtype:
            better = better | (value.is_nan() & (~largest.is_nan() | (flat > where)))
        taken = inside & better
        return [taken.select(value, largest), taken.select(flat, where)]

    shape = [*x.shape[:2], *window.output]
    start = b.fill(shape, x.dtype, identity_of("max", x.dtype))
    nowhere = b.fill(shape, "int64", -1)
    initial = [(start, x.dtype), (nowhere, "int64")]
    largest, where = _windows(window).generic(b, padded, initial, body)
    if node.attribute("storage_order", 0):
        where = b.map(lambda flat: _column_major(flat, sizes), where, dtype="int64")
    return [largest, where]


def _may_unroll(x: Tensor, window: Window) -> bool:
    """Tell whether there are few taps, and elements of the input in every window."""
    last = [(n - 1) * step for n, step in zip(window.output, window.strides, strict=True)]
    places = zip(last, window.low, x.shape[2:], strict=True)
    inside = all(begin - low < size for begin, low, size in places)
    return inside and prod(window.kernel) <= _FEW_TAPS and prod(x.shape[2:]) < np.iinfo("int32").max


def _places_by_taps(node: Node, x: Tensor, padded: Tensor, window: Window) -> Tensor:
    """Return where maxima are, element by element of the result: each tap is a slice of the input.

    A place is that of the window's beginning and a constant of the tap. The first tap within the
    input is there from the start, so that padding, which is less or the same, is never taken.
    """
    b, sizes = node.b, x.shape[2:]
    steps = [prod(sizes[i + 1 :]) for i in range(len(sizes))]
    slices, offsets = [], []
    for tap in np.ndindex(*window.kernel):
        start = [int(n) * step for n, step in zip(tap, window.dilations, strict=True)]
        shape = [*x.shape[:2], *window.output]
        slices.append(b.slice(padded, [0, 0, *start], shape, [1, 1, *window.strides]))
        offsets.append(sum(n * step for n, step in zip(start, steps, strict=True)))

    def place(*values: Scalar) -> Scalar:
        image = (b.index(0) * x.shape[1] + b.index(1)) * prod(sizes)
        begin, offset = image.cast("int64"), constant(0, "int32")
        for i, step in enumerate(steps):
            at = b.index(2 + i).cast("int64") * window.strides[i] - window.low[i]
            begin = begin + at * step
            dilation = window.dilations[i]
            skipped = (-at.cast("int32") + (dilation - 1)) / dilation
            offset = offset + skipped.maximum(0) * (dilation * step)
        best = constant(identity_of("max", x.dtype), x.dtype)
        for value, tap_offset in zip(values, offsets, strict=True):
            better = value > best
            if "float" in x.dtype:
                better = better | value.is_nan()
            best = better.select(value, best)
            offset = better.select(constant(tap_offset, "int32"), offset)
        return begin + offset.cast("int64")

    found = b.map(place, *slices, dtype="int64")
    if node.attribute("storage_order", 0):
        return b.map(lambda flat: _column_major(flat, sizes), found, dtype="int64")
    return found


def _column_major(flat: Scalar, sizes: Sequence[int]) -> Scalar:
    """The flat position when the spatial dimensions are stored with the first one fastest."""
    result, scale = constant(0, "int64"), prod(sizes)
    for size in reversed(sizes):
        scale //= size
        result = result + flat % size * scale
        flat = flat / size
    return result + flat * prod(sizes)


@handles("AveragePool")
def average_pool(node: Node) -> Tensor:
    x = _image(node)
    window = _window(node, x)
    if 0 in window.output:
        return _nothing(node, x, window, x.dtype)
    wide = accumulator_of(x.dtype)
    total = slide(node.b, window.pad(node.b, x, 0), _windows(window), "sum", accumulator=wide)
    include = bool(node.attribute("count_include_pad", 0))
    if fold_record().sizes_are_free:

        def average(value: Scalar) -> Scalar:
            taps = [_taps(node.b, window, n, size, include) for n, size in enumerate(x.shape[2:])]
            return (value / prod(taps, start=constant(1, "int64")).cast(wide)).cast(x.dtype)

        return node.b.map(average, total, dtype=x.dtype)
    counts = [_counts(window, axis, size, include) for axis, size in enumerate(x.shape[2:])]
    return _divided(node.b, total, _divisors(counts, wide), x.dtype)


def _divided(b: TensorBuilder, total: Tensor, divisors: Sequence[Operand], dtype: str) -> Tensor:
    def average(value: Scalar, *factors: Scalar) -> Scalar:
        divisor = factors[0]
        for factor in factors[1:]:
            divisor = divisor * factor
        return (value / divisor).cast(dtype)

    return b.map(average, total, *divisors, dtype=dtype)


def _taps(b: TensorBuilder, window: Window, axis: int, size: int, include_pad: bool) -> Scalar:
    """Return how many taps of the window at hand along one dimension count, computed in the call.

    Of a free dimension, an array of them would be another one at each size.
    """
    low, high = window.low[axis], window.high[axis]
    kernel, stride, dilation = window.kernel[axis], window.strides[axis], window.dilations[axis]
    end = (window.output[axis] - 1) * stride + dilation * (kernel - 1) + 1
    if (include_pad or low == high == 0) and end <= low + size + high:
        return constant(kernel, "int64")
    first, last = (0, low + size + high) if include_pad else (low, low + size)
    start = b.index(2 + axis).cast("int64") * stride

    def taps_before(end: int) -> Scalar:
        before = (constant(end + dilation - 1, "int64") - start) / dilation
        return before.maximum(0).minimum(kernel)

    return taps_before(last) - taps_before(first)


def _counts(window: Window, axis: int, size: int, include_pad: bool) -> np.ndarray:
    """Return how many taps of each window along one dimension count."""
    low, high = window.low[axis], window.high[axis]
    first, last = (0, low + size + high) if include_pad else (low, low + size)
    starts = np.arange(window.output[axis]) * window.strides[axis]

    def taps_before(end: int) -> np.ndarray:
        """The number of taps of each window that lie before `end`."""
        before = -(-(end - starts) // window.dilations[axis])
        return np.asarray(np.clip(before, 0, window.kernel[axis]))

    return np.asarray(taps_before(last) - taps_before(first))


def _divisors(counts: Sequence[np.ndarray], dtype: str) -> list[Operand]:
    """Arrays that broadcast to the spatial dimensions, and the product of which is the count."""
    if all(len(set(count.tolist())) == 1 for count in counts):
        return [np.full((1,), prod(int(count[0]) for count in counts), dtype)]
    return [
        count.reshape([-1] + [1] * (len(counts) - axis - 1)).astype(dtype)
        for axis, count in enumerate(counts)
    ]


@handles("LpPool")
def lp_pool(node: Node) -> Tensor:
    x = _image(node)
    window = _window(node, x)
    if 0 in window.output:
        return _nothing(node, x, window, x.dtype)
    padded, order = window.pad(node.b, x, 0), _order(node)
    wide = accumulator_of(x.dtype)
    total = slide(
        node.b,
        padded,
        _windows(window),
        "sum",
        accumulator=wide,
        element=lambda value: power(value, order),
    )
    return node.b.map(lambda v: root(v, order).cast(x.dtype), total, dtype=x.dtype)


def _order(node: Node) -> int:
    order = int(node.attribute("p", 2))
    if order < 1:
        raise node.invalid(f"attribute 'p' must be positive, got {order}")
    return order


def power(value: Scalar, order: int) -> Scalar:
    """|value|^order."""
    if order == 2:
        return value * value
    magnitude = value.math("absf")
    return magnitude if order == 1 else magnitude.math("powf", order)


def root(value: Scalar, order: int) -> Scalar:
    """The `order`-th root of a value that is not negative."""
    if order == 1:
        return value
    return value.math("sqrt") if order == 2 else value.math("powf", 1 / order)


@handles("GlobalAveragePool")
def global_average_pool(node: Node) -> Tensor:
    x = _image(node)
    count = prod(x.shape[2:])
    total = _global(node, x, "sum")
    return node.b.map(lambda v: (v / count).cast(x.dtype), total, dtype=x.dtype)


@handles("GlobalMaxPool")
def global_max_pool(node: Node) -> Tensor:
    x = _image(node)
    return cast(node.b, _global(node, x, "max"), x.dtype)


@handles("GlobalLpPool")
def global_lp_pool(node: Node) -> Tensor:
    x, order = _image(node), _order(node)
    total = _global(node, x, "sum", order)
    return node.b.map(lambda v: root(v, order).cast(x.dtype), total, dtype=x.dtype)


def _global(node: Node, x: Tensor, kind: Reduction, order: int | None = None) -> Tensor:
    wide = accumulator_of(x.dtype) if kind == "sum" else x.dtype
    element = (lambda value: power(value, order)) if order is not None else None
    return node.b.reduce(x, range(2, x.rank), kind, accumulator=wide, element=element)
