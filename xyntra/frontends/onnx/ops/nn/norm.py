# SPDX-License-Identifier: MIT OR Apache-2.0
"""Normalisations."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.dense import only_element
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.dialects.tensors.pooling import Windows, slide
from xyntra.dialects.tensors.vector_maps import map_channels
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import (
    accumulator_of,
    cast,
    check_vectors,
    map_float,
)

_FLOAT, _DOUBLE = 1, 11


def _epsilon(node: Node) -> float:
    epsilon = float(node.attribute("epsilon", 1e-5))
    if not 0 <= epsilon < float("inf"):
        raise node.invalid(f"attribute 'epsilon' must not be negative, got {epsilon}")
    return epsilon


def _check_stash_type(node: Node, dtype: str) -> None:
    """Refuse a first stage in a precision below float32, or above that of the input."""
    stash = int(node.attribute("stash_type", _FLOAT))
    if stash != _FLOAT and (stash, dtype) != (_DOUBLE, "float64"):
        raise node.unsupported(f"stash_type {stash} with an input of {dtype}")


@handles("BatchNormalization")
def batch_norm(node: Node) -> Sequence[Tensor]:
    x = node.tensor(0)
    if x.rank < 1:
        raise node.invalid("the input is a scalar")
    if not node.attribute("spatial", 1):
        raise node.unsupported("statistics per activation (spatial = 0)")
    axis = 1 if x.rank > 1 else 0
    channels = x.shape[1] if x.rank > 1 else 1
    if x.rank == 1:
        raise node.unsupported("an input of rank 1")
    scale, bias, mean, variance = check_vectors(node, [1, 2, 3, 4], channels)
    if node.attribute("training_mode", 0):
        mean, variance, *running = _batch_statistics(node, x, mean, variance)
    else:
        running = []
    return [_normalise_channels(node, x, axis, (scale, bias, mean, variance)), *running]


def _normalise_channels(node: Node, x: Tensor, axis: int, parameters: Sequence[Tensor]) -> Tensor:
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, as one multiplication and addition."""
    wide, epsilon = accumulator_of(x.dtype), _epsilon(node)

    def factor(scale: Scalar, variance: Scalar) -> Scalar:
        return scale.cast(wide) / (variance.cast(wide) + epsilon).math("sqrt")

    def shift(factor: Scalar, bias: Scalar, mean: Scalar) -> Scalar:
        return bias.cast(wide) - mean.cast(wide) * factor

    scale, bias, mean, variance = parameters
    factors = node.b.map(factor, scale, variance, dtype=wide)
    shifts = node.b.map(shift, factors, bias, mean, dtype=wide)

    def apply(value: Scalar, by: Scalar, plus: Scalar) -> Scalar:
        return (value.cast(wide) * by + plus).cast(x.dtype)

    return map_channels(node.b, apply, x, factors, shifts, axis=axis)


def _batch_statistics(node: Node, x: Tensor, mean: Tensor, variance: Tensor) -> list[Tensor]:
    """Mean and variance of the batch by channel, then the running ones."""
    b, wide = node.b, accumulator_of(x.dtype)
    axes = [d for d in range(x.rank) if d != 1]
    count = prod(x.shape[d] for d in axes)
    total = b.reduce(x, axes, "sum", keepdims=False, accumulator=wide)
    batch_mean = b.map(lambda v: v / count, total, dtype=wide)
    centred = map_channels(b, lambda v, m: v.cast(wide) - m, x, batch_mean, dtype=wide)
    squares = b.reduce(centred, axes, "sum", keepdims=False, element=lambda v: v * v)
    batch_variance = b.map(lambda v: v / count, squares, dtype=wide)
    momentum = float(node.attribute("momentum", 0.9))

    def running(old: Tensor, new: Tensor) -> Tensor:
        def body(a: Scalar, c: Scalar) -> Scalar:
            return (a.cast(wide) * momentum + c * (1 - momentum)).cast(old.dtype)

        return b.map(body, old, new, dtype=old.dtype)

    return [
        batch_mean,
        batch_variance,
        running(mean, batch_mean),
        running(variance, batch_variance),
    ]


def _check_fits(node: Node, position: int, operand: Tensor, x: Tensor) -> None:
    if broadcast_shapes(x.shape, operand.shape) != x.shape:
        raise node.invalid(f"input {position} {operand.shape} does not broadcast to {x.shape}")


@handles("LayerNormalization")
def layer_norm(node: Node) -> Sequence[Tensor]:
    x, scale = node.tensor(0), node.tensor(1)
    bias = node.tensor(2) if node.has(2) else None
    _check_stash_type(node, x.dtype)
    for position, operand in ((1, scale), (2, bias)):
        if operand is not None:
            _check_fits(node, position, operand, x)
    axis = node.axis(int(node.attribute("axis", -1)), x.rank)
    result = named.layer_norm(node.b, x, axis, _epsilon(node), scale, bias)
    if not any(node.proto.output[1:]):
        return [result]
    return [result, *_layer_statistics(node, x, axis)]


def _layer_statistics(node: Node, x: Tensor, axis: int) -> list[Tensor]:
    """Mean and reciprocal standard deviation, in float32 as `stash_type` says."""
    b, wide, epsilon = node.b, accumulator_of(x.dtype), _epsilon(node)
    axes = range(axis, x.rank)
    count = prod(x.shape[axis:])
    total = b.reduce(x, axes, "sum", accumulator=wide)
    mean = b.map(lambda v: v / count, total, dtype=wide)
    centred = b.map(lambda v, m: v.cast(wide) - m, x, mean, dtype=wide)
    squares = b.reduce(centred, axes, "sum", element=lambda v: v * v)

    def inverse(v: Scalar) -> Scalar:
        return constant(1, wide) / (v / count + epsilon).math("sqrt")

    stash = "float64" if node.attribute("stash_type", _FLOAT) == _DOUBLE else "float32"
    deviation = b.map(inverse, squares, dtype=wide)
    return [cast(b, mean, stash), cast(b, deviation, stash)]


@handles("RMSNormalization", "SimplifiedLayerNormalization")
def rms_norm(node: Node) -> Tensor:
    """The second name is what onnxruntime's optimizer writes, in the same domain."""
    if any(node.proto.output[1:]):
        raise node.unsupported("the reciprocal of the root mean square as an output")
    x, scale = node.tensor(0), node.tensor(1)
    _check_stash_type(node, x.dtype)
    _check_fits(node, 1, scale, x)
    axis = node.axis(int(node.attribute("axis", -1)), x.rank)
    if scale.dtype == x.dtype:
        return named.rms_norm(node.b, x, axis, _epsilon(node), scale)
    normalised = named.rms_norm(node.b, x, axis, _epsilon(node))
    return map_float(
        node.b, lambda s, v: v * s, scale, cast(node.b, normalised, scale.dtype), dtype=scale.dtype
    )


@handles("InstanceNormalization")
def instance_norm(node: Node) -> Tensor:
    x = node.tensor(0)
    if x.rank < 3:
        raise node.invalid(f"the input {x.shape} has no spatial dimensions")
    scale, bias = check_vectors(node, [1, 2], x.shape[1])
    return normalise_groups(node, x, x.shape[1], scale, bias)


@handles("GroupNormalization")
def group_norm(node: Node) -> Tensor:
    x, groups = node.tensor(0), int(node.required("num_groups"))
    if x.rank < 2 or groups < 1 or x.shape[1] % groups:
        raise node.invalid(f"an input {x.shape} does not split into {groups} groups of channels")
    _check_stash_type(node, x.dtype)
    if node.opset >= 21:
        scale, bias = check_vectors(node, [1, 2], x.shape[1])
        return normalise_groups(node, x, groups, scale, bias)
    scale, bias = check_vectors(node, [1, 2], groups)
    grouped = [groups, x.shape[1] // groups]
    scale, bias = (
        node.b.reshape(
            node.b.broadcast_to(node.b.reshape(vector, [groups, 1]), grouped), [x.shape[1]]
        )
        for vector in (scale, bias)
    )
    return normalise_groups(node, x, groups, scale, bias)


def normalise_groups(node: Node, x: Tensor, groups: int, scale: Tensor, bias: Tensor) -> Tensor:
    """Normalise each group of channels of each instance; scale and shift each channel."""
    b, wide = node.b, accumulator_of(x.dtype)
    if 0 in x.shape:
        return x
    size = prod(x.shape[1:]) // groups
    rows = b.reshape(x, [x.shape[0], groups, size])
    normalised = b.reshape(named.layer_norm(b, rows, 2, _epsilon(node)), x.shape)
    if only_element(scale.value) == 1 and only_element(bias.value) == 0:
        return normalised  # as PyTorch's exporter writes a group norm, which it scales afterwards

    def apply(value: Scalar, by: Scalar, plus: Scalar) -> Scalar:
        return (value.cast(wide) * by.cast(wide) + plus.cast(wide)).cast(x.dtype)

    return map_channels(b, apply, normalised, scale, bias)


@handles("LpNormalization")
def lp_norm(node: Node) -> Tensor:
    x, order = node.tensor(0), int(node.attribute("p", 2))
    if order not in (1, 2):
        raise node.invalid(f"attribute 'p' must be 1 or 2, got {order}")
    axis, wide = node.axis(int(node.attribute("axis", -1)), x.rank), accumulator_of(x.dtype)

    def magnitude(v: Scalar) -> Scalar:
        return v * v if order == 2 else v.math("absf")

    def divide(value: Scalar, total: Scalar) -> Scalar:
        norm = total.math("sqrt") if order == 2 else total
        quotient = value.cast(wide) / norm
        return norm.equals(0).select(constant(0, wide), quotient).cast(x.dtype)

    total = node.b.reduce(x, [axis], "sum", accumulator=wide, element=magnitude)
    return node.b.map(divide, x, total, dtype=x.dtype)


@handles("MeanVarianceNormalization")
def mean_variance_norm(node: Node) -> Tensor:
    x, b = node.tensor(0), node.b
    axes, wide = node.axes(node.attribute("axes", [0, 2, 3]), x.rank), accumulator_of(x.dtype)
    count = prod(x.shape[axis] for axis in axes)
    total = b.reduce(x, axes, "sum", accumulator=wide)
    centred = b.map(lambda v, t: v.cast(wide) - t / count, x, total, dtype=wide)
    squares = b.reduce(centred, axes, "sum", element=lambda v: v * v)
    # The specification's function adds this to the standard deviation.
    tiny = 1e-9
    return b.map(
        lambda v, s: (v / ((s / count).math("sqrt") + tiny)).cast(x.dtype),
        centred,
        squares,
        dtype=x.dtype,
    )


@handles("LRN")
def local_response_norm(node: Node) -> Tensor:
    x, size = node.tensor(0), int(node.required("size"))
    if x.rank < 3 or size < 1:
        raise node.invalid(f"size {size} with an input of shape {x.shape}")
    b, wide = node.b, accumulator_of(x.dtype)
    batch, channels, rest = x.shape[0], x.shape[1], prod(x.shape[2:])
    low = (size - 1) // 2
    rows = b.reshape(x, [1, batch, channels, rest])
    padded = b.pad(rows, [0, 0, low, 0], [0, 0, size - 1 - low, 0], 0)
    windows = Windows((size, 1), (1, 1), (1, 1), (channels, rest))
    squares = slide(b, padded, windows, "sum", accumulator=wide, element=lambda v: v * v)
    alpha, beta, bias = (
        float(node.attribute(name, default))
        for name, default in (("alpha", 1e-4), ("beta", 0.75), ("bias", 1.0))
    )

    def divide(value: Scalar, total: Scalar) -> Scalar:
        return (value.cast(wide) / (total * (alpha / size) + bias).math("powf", beta)).cast(x.dtype)

    return b.map(divide, x, b.reshape(squares, x.shape), dtype=x.dtype)
