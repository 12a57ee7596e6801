# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products, softmax, norms, pooling and quantization in numpy, on wide arrays."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import Any

import numpy as np
from onnx import TensorProto

from verify.random_graphs.dtypes import DTYPES
from verify.random_graphs.reference.call import Call, kernel

__all__: list[str] = []

Array = np.ndarray
# Attributes are floats of 32 bits, their defaults too.
_EPSILON = float(np.float32(1e-5))


@kernel("MatMul")
def matmul(call: Call) -> Array:
    a, b = call.inputs
    return np.matmul(a, b).astype(a.dtype)


@kernel("Gemm")
def gemm(call: Call) -> Array:
    a, b = call.inputs[0], call.inputs[1]
    a = a.T if call.get("transA", 0) else a
    b = b.T if call.get("transB", 0) else b
    if a.dtype.kind != "f":
        result = np.matmul(a, b) * a.dtype.type(call.get("alpha", 1.0))
        return (
            result + call.inputs[2] * a.dtype.type(call.get("beta", 1.0)) if call.has(2) else result
        )
    result = call.get("alpha", 1.0) * np.matmul(a, b)
    return result + call.get("beta", 1.0) * call.inputs[2] if call.has(2) else result


@kernel("MatMulInteger")
def matmul_integer(call: Call) -> Array:
    a, b = (call.inputs[i].astype(np.int64) for i in range(2))
    zero_a, zero_b = call.input(2, np.int64(0)), call.input(3, np.int64(0))
    if zero_a.ndim == 1 and zero_a.size > 1:
        zero_a = zero_a[:, None]
    result = np.matmul(a - zero_a.astype(np.int64), b - zero_b.astype(np.int64))
    return result.astype(np.int32)


def _softmax(x: Array, axis: int | tuple[int, ...]) -> Array:
    exp = np.exp(x - np.max(x, axis, keepdims=True, initial=-np.inf))
    return exp / np.sum(exp, axis, keepdims=True)


def _softmax_axes(call: Call) -> int | tuple[int, ...]:
    if call.version >= 13:
        return int(call.get("axis", -1))
    axis = call.get("axis", 1) % max(call.inputs[0].ndim, 1)
    return tuple(range(axis, call.inputs[0].ndim))


@kernel("Softmax")
def softmax(call: Call) -> Array:
    x = call.inputs[0]
    finite = np.where(np.isfinite(x), np.abs(x), 0)
    return _softmax(x + call.rough(finite), _softmax_axes(call))


@kernel("Hardmax")
def hardmax(call: Call) -> Array:
    x, axes = call.inputs[0], _softmax_axes(call)
    first = axes if isinstance(axes, int) else axes[0]
    rows = (
        x.reshape(*x.shape[:first], -1) if not isinstance(axes, int) else np.moveaxis(x, axes, -1)
    )
    result = np.zeros(rows.shape)
    np.put_along_axis(result, np.argmax(rows, -1)[..., None], 1, -1)
    return result.reshape(x.shape) if not isinstance(axes, int) else np.moveaxis(result, -1, axes)


@kernel("LogSoftmax")
def log_softmax(call: Call) -> Array:
    x, axes = call.inputs[0], _softmax_axes(call)
    shifted = x - np.max(x, axes, keepdims=True, initial=-np.inf)
    shifted = shifted + call.rough(np.where(np.isfinite(shifted), 1 + np.abs(shifted), 0))
    # Where one element leads, the sum is 1 and a little; rounding it to 1 + k u costs the logarithm
    # u absolutely, however small the result.
    total = np.sum(np.exp(shifted), axes, keepdims=True)
    return shifted - np.log(total + call.rough(np.where(np.isfinite(total), total, 0)))


def _normalised(
    call: Call, x: Array, axes: tuple[int, ...], epsilon: float
) -> tuple[Array, Array, Array]:
    count = math.prod(x.shape[axis] for axis in axes)
    mean = np.sum(x, axes, keepdims=True) / count
    mean = mean + call.rough(np.sum(np.abs(x), axes, keepdims=True) / count)
    variance = np.sum((x - mean) ** 2, axes, keepdims=True) / count
    inverse = 1 / np.sqrt(variance + epsilon)
    return (x - mean) * inverse, mean, inverse


@kernel("LayerNormalization")
def layer_norm(call: Call) -> list[Array]:
    x = call.inputs[0]
    axes = tuple(range(call.get("axis", -1) % x.ndim, x.ndim))
    y, mean, inverse = _normalised(call, x, axes, call.get("epsilon", _EPSILON))
    y = y * call.inputs[1]
    if call.has(2):
        y = y + call.inputs[2]
    return [y, mean, inverse][: call.outputs]


@kernel("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(call: Call) -> Array:
    x = call.inputs[0]
    axes = tuple(range(call.get("axis", -1) % x.ndim, x.ndim))
    count = math.prod(x.shape[axis] for axis in axes)
    mean = np.sum(x * x, axes, keepdims=True) / count
    return x / np.sqrt(mean + call.get("epsilon", _EPSILON)) * call.inputs[1]


def _channels(value: Array, rank: int) -> Array:
    return value.reshape(-1, *[1] * (rank - 2))


@kernel("InstanceNormalization")
def instance_norm(call: Call) -> Array:
    x, scale, bias = call.inputs
    y, _, _ = _normalised(call, x, tuple(range(2, x.ndim)), call.get("epsilon", _EPSILON))
    return y * _channels(scale, x.ndim) + _channels(bias, x.ndim)


@kernel("GroupNormalization")
def group_norm(call: Call) -> Array:
    x, scale, bias = call.inputs
    groups = call.get("num_groups")
    parts = x.reshape(x.shape[0], groups, -1)
    y, _, _ = _normalised(call, parts, (2,), call.get("epsilon", _EPSILON))
    if call.version < 21:
        return (y * scale[:, None] + bias[:, None]).reshape(x.shape)
    return y.reshape(x.shape) * _channels(scale, x.ndim) + _channels(bias, x.ndim)


@kernel("BatchNormalization")
def batch_norm(call: Call) -> Array:
    x, scale, bias, mean, variance = call.inputs
    scale, bias, mean, variance = (_channels(v, x.ndim) for v in (scale, bias, mean, variance))
    if x.ndim == 1:
        scale, bias, mean, variance = (v.reshape(()) for v in (scale, bias, mean, variance))
    return (x - mean) / np.sqrt(variance + call.get("epsilon", _EPSILON)) * scale + bias


@kernel("LpNormalization")
def lp_norm(call: Call) -> Array:
    x, axis = call.inputs[0], call.get("axis", -1)
    norm = (
        np.sum(np.abs(x), axis, keepdims=True)
        if call.get("p", 2) == 1
        else np.sqrt(call.underflow(np.sum(x * x, axis, keepdims=True), x.shape[axis]))
    )
    return np.where(norm == 0, 0, x / np.where(norm == 0, 1, norm))


@kernel("MeanVarianceNormalization")
def mean_variance_norm(call: Call) -> Array:
    x = call.inputs[0]
    axes = tuple(axis % x.ndim for axis in call.get("axes", [0, 2, 3]))
    mean = np.mean(x, axes, keepdims=True)
    mean = mean + call.rough(np.mean(np.abs(x), axes, keepdims=True))
    deviation = np.sqrt(np.mean((x - mean) ** 2, axes, keepdims=True))
    return (x - mean) / (deviation + 1e-9)


@kernel("GlobalAveragePool")
def global_average_pool(call: Call) -> Array:
    x = call.inputs[0]
    return np.mean(x, tuple(range(2, x.ndim)), keepdims=True)


@kernel("GlobalMaxPool")
def global_max_pool(call: Call) -> Array:
    x = call.inputs[0]
    return np.max(x, tuple(range(2, x.ndim)), keepdims=True)


@kernel("GlobalLpPool")
def global_lp_pool(call: Call) -> Array:
    x, p = call.inputs[0], call.get("p", 2)
    sums = np.sum(np.abs(x) ** p, tuple(range(2, x.ndim)), keepdims=True)
    return call.underflow(sums, math.prod(x.shape[2:])) ** (1 / p)


def _geometry(
    call: Call,
) -> tuple[list[int], list[int], list[int], list[int], list[int], list[int]]:
    """Kernel, strides, dilations, pads at the start and at the end, and sizes of the result."""
    sizes = call.inputs[0].shape[2:]
    window = list(call.get("kernel_shape"))
    strides = list(call.get("strides", [1] * len(window)))
    dilations = list(call.get("dilations", [1] * len(window)))
    pads = list(call.get("pads", [0] * (2 * len(window))))
    before, after = pads[: len(window)], pads[len(window) :]
    auto, result = call.get("auto_pad", "NOTSET"), []
    for i, size in enumerate(sizes):
        extent = (window[i] - 1) * dilations[i] + 1
        if auto.startswith("SAME"):
            out = -(-size // strides[i])
            total = max(0, (out - 1) * strides[i] + extent - size)
            small, large = total // 2, total - total // 2
            before[i], after[i] = (small, large) if auto == "SAME_UPPER" else (large, small)
        else:
            if auto == "VALID":
                before[i] = after[i] = 0
            span = size + before[i] + after[i] - extent
            out = (-(-span // strides[i]) if call.get("ceil_mode", 0) else span // strides[i]) + 1
            if call.get("ceil_mode", 0) and (out - 1) * strides[i] >= size + before[i]:
                out -= 1
        result.append(out)
    return window, strides, dilations, before, after, result


def _windows(call: Call) -> tuple[Array, Array, Array]:
    """Values, whether each is in the image, and whether in the image or its padding.

    All have the shape [batch, channel, *result, *kernel].
    """
    x = call.inputs[0]
    window, strides, dilations, before, after, out = _geometry(call)
    shape = (*x.shape[:2], *out, *window)
    values, inside, counted = np.zeros(shape, x.dtype), np.zeros(shape, bool), np.zeros(shape, bool)
    for place in itertools.product(*map(range, out)):
        for tap in itertools.product(*map(range, window)):
            at = [
                p * s - b + t * d
                for p, s, b, t, d in zip(place, strides, before, tap, dilations, strict=True)
            ]
            key = (slice(None), slice(None), *place, *tap)
            if all(0 <= a < n for a, n in zip(at, x.shape[2:], strict=True)):
                values[key], inside[key] = x[(slice(None), slice(None), *at)], True
            counted[key] = all(
                -b <= a < n + e for a, n, b, e in zip(at, x.shape[2:], before, after, strict=True)
            )
    return values, inside, counted


@kernel("Conv")
def conv(call: Call) -> Array:
    x, w = call.inputs[:2]
    shaped = replace(call, attributes={**call.attributes, "kernel_shape": w.shape[2:]})
    window, strides, dilations, before, after, out = _geometry(shaped)
    pads = [(0, 0), (0, 0), *zip(before, after, strict=True)]
    padded, inside = np.pad(x, pads), np.pad(np.ones(x.shape, bool), pads)
    # Where padding meets a weight that is not finite, taps may be multiplied or left out.
    everywhere = call.random is None or call.random.random() < 0.5
    group, count = call.get("group", 1), w.shape[0]
    result = np.zeros((x.shape[0], count, *out))
    channels = np.arange(count) // max(count // group, 1) * w.shape[1]
    for c, *tap in itertools.product(range(w.shape[1]), *map(range, window)):
        key = [
            slice(t * d, t * d + (n - 1) * s + 1, s)
            for t, d, n, s in zip(tap, dilations, out, strides, strict=True)
        ]
        at = (slice(None), channels + c, *key)
        products = padded[at] * _channels(w[(slice(None), c, *tap)], x.ndim)
        result += np.where(inside[at] | everywhere, products, 0)
    return result + _channels(call.inputs[2], x.ndim) if call.has(2) else result


@kernel("ConvTranspose")
def conv_transpose(call: Call) -> Array:
    x, w = call.inputs[:2]
    rank, group = x.ndim - 2, call.get("group", 1)
    strides, dilations = call.get("strides", [1] * rank), call.get("dilations", [1] * rank)
    pads, extra = call.get("pads", [0] * (2 * rank)), call.get("output_padding", [0] * rank)
    sizes = [
        (n - 1) * s + (k - 1) * d + 1 + e
        for n, s, k, d, e in zip(x.shape[2:], strides, w.shape[2:], dilations, extra, strict=True)
    ]
    result = np.zeros((x.shape[0], w.shape[1] * group, *sizes))
    per = x.shape[1] // group
    for c in range(x.shape[1]):
        outputs = slice(c // per * w.shape[1], (c // per + 1) * w.shape[1])
        for tap in itertools.product(*map(range, w.shape[2:])):
            key = [
                slice(t * d, t * d + (n - 1) * s + 1, s)
                for t, d, n, s in zip(tap, dilations, x.shape[2:], strides, strict=True)
            ]
            column = w[(c, slice(None), *tap)].reshape(-1, *[1] * rank)
            result[(slice(None), outputs, *key)] += x[:, c : c + 1] * column
    ends = [n - pads[rank + i] for i, n in enumerate(sizes)]
    cut = result[(..., *(slice(pads[i], end) for i, end in enumerate(ends)))]
    return cut + _channels(call.inputs[2], x.ndim) if call.has(2) else cut


@kernel("AveragePool", "LpPool")
def average_pool(call: Call) -> Array:
    values, inside, counted = _windows(call)
    axes = tuple(range(values.ndim - len(call.get("kernel_shape")), values.ndim))
    if call.op_type == "LpPool":
        p = call.get("p", 2)
        window = math.prod(call.get("kernel_shape"))
        return call.underflow(np.sum(np.abs(values) ** p, axes), window) ** (1 / p)
    count = np.sum(counted if call.get("count_include_pad", 0) else inside, axes)
    return np.sum(values, axes) / count


@kernel("MaxPool")
def max_pool(call: Call) -> list[Array] | Array:
    values, inside, _ = _windows(call)
    rank = len(call.get("kernel_shape"))
    lowest: Any = -np.inf if values.dtype.kind == "f" else np.iinfo(values.dtype).min
    shape = (*values.shape[: values.ndim - rank], -1)
    flat, inside = np.where(inside, values, lowest).reshape(shape), inside.reshape(shape)
    top = np.max(flat, -1)
    if call.outputs == 1:
        return top
    window, strides, dilations, before, _, out = _geometry(call)
    largest = (flat == top[..., None]) | ((flat != flat) & (top != top)[..., None])
    best = np.argmax(largest & inside, -1)
    sizes = call.inputs[0].shape[2:]
    taps = np.unravel_index(best, window)
    index = np.zeros(best.shape, np.int64)
    order = range(rank) if not call.get("storage_order", 0) else reversed(range(rank))
    for i in order:
        place = np.arange(out[i]).reshape([-1 if j == i else 1 for j in range(rank)])
        index = index * sizes[i] + place * strides[i] - before[i] + taps[i] * dilations[i]
    planes = np.arange(math.prod(best.shape[:2])).reshape(*best.shape[:2], *[1] * rank)
    # A window that lies in the padding has no place; it is -1.
    return [top, np.where(inside.any(-1), index + planes * math.prod(sizes), -1)]


def _per_axis(value: Array, x: Array, axis: int, block: int) -> Array:
    if value.size == 1 and value.ndim <= 1 and not block:
        return value.reshape(())
    if block:
        return np.repeat(value, block, axis).take(range(x.shape[axis]), axis)
    return value.reshape([-1 if i == axis % x.ndim else 1 for i in range(x.ndim)])


@kernel("QuantizeLinear")
def quantize(call: Call) -> Array:
    x, scale = call.inputs[0], call.inputs[1]
    axis, block = call.get("axis", 1), call.get("block_size", 0)
    elem = call.elems[2] if call.has(2) else call.get("output_dtype", 0) or TensorProto.UINT8
    limits = np.iinfo(DTYPES[elem])
    value = np.rint(x / _per_axis(scale, x, axis, block))
    if call.has(2):
        value = value + _per_axis(call.inputs[2], x, axis, block).astype(np.float64)
    value = np.where(np.isnan(value), limits.min, np.clip(value, limits.min, limits.max))
    return value.astype(DTYPES[elem])


@kernel("DequantizeLinear")
def dequantize(call: Call) -> Array:
    x, scale = call.inputs[0], call.inputs[1]
    axis, block = call.get("axis", 1), call.get("block_size", 0)
    value = x.astype(np.float64)
    if call.has(2):
        value = value - _per_axis(call.inputs[2], x, axis, block).astype(np.float64)
    return value * _per_axis(scale, x, axis, block)


@kernel("DynamicQuantizeLinear")
def dynamic_quantize(call: Call) -> list[Array]:
    x = call.inputs[0]
    low, high = min(0.0, float(x.min(initial=0))), max(0.0, float(x.max(initial=0)))
    scale = (high - low) / 255
    if scale == 0:
        scale = 1.0
    start, steps = -low / scale, x / scale
    zero = np.clip(np.rint(start + call.rough(start)), 0, 255)
    y = np.clip(np.rint(steps + call.rough(np.abs(steps))) + zero, 0, 255)
    return [y.astype(np.uint8), np.float64(scale), zero.astype(np.uint8)]


@kernel("Dropout")
def dropout(call: Call) -> list[Array]:
    x = call.inputs[0]
    return [x, np.ones(x.shape, bool)][: call.outputs]


@kernel("LRN")
def local_response_norm(call: Call) -> Array:
    x, size = call.inputs[0], call.get("size")
    squares = np.zeros_like(x)
    for c in range(x.shape[1]):
        start = max(0, c - (size - 1) // 2)
        end = min(x.shape[1] - 1, c + math.ceil((size - 1) / 2)) + 1
        squares[:, c] = np.sum(x[:, start:end] ** 2, 1)
    alpha, beta = call.get("alpha", np.float64(np.float32(1e-4))), call.get("beta", 0.75)
    return x / (call.get("bias", 1.0) + alpha / size * squares) ** beta
