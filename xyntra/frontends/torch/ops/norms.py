# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms, with the statistics that their gradients read."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.weight_types import dtype_of


@handles("_native_batch_norm_legit_no_training")
def batch_norm(node: AtenNode) -> Sequence[Result]:
    x = node.tensor("input")
    names = ("weight", "bias", "running_mean", "running_var")
    size = x.shape[1]
    defaults = (1, 0, 0, 1)
    operands = [
        node.operand(name) if node.has(name) else np.full(size, default, dtype_of(x.dtype))
        for name, default in zip(names, defaults, strict=True)
    ]
    return [*node.by_onnx("BatchNormalization", x, *operands, epsilon=node["eps"])[:1], None, None]


@handles("native_layer_norm")
def layer_norm(node: AtenNode) -> Sequence[Result]:
    """The second and third result are the mean and the reciprocal deviation of each row."""
    x, b = node.tensor("input"), node.b
    axis = x.rank - len(node["normalized_shape"])
    scale, bias = (
        cast(b, node.tensor(name), x.dtype) if node.has(name) else None
        for name in ("weight", "bias")
    )
    found = named.layer_norm(b, x, axis, _epsilon(node), scale, bias)
    return [found, *_statistics(node, x, list(range(axis, x.rank)))]


def _epsilon(node: AtenNode) -> float:
    epsilon = float(node["eps"])
    if epsilon < 0:
        raise node.unsupported("a negative epsilon")
    return epsilon


def _statistics(node: AtenNode, x: Tensor, axes: list[int]) -> list[Tensor]:
    """Return the mean and the reciprocal deviation over `axes`, in the shapes PyTorch says."""
    b, wide, epsilon = node.b, accumulator_of(x.dtype), float(node["eps"])
    count = float(np.prod([x.shape[axis] for axis in axes]))
    total = b.reduce(x, axes, "sum", accumulator=wide)
    mean = b.map(lambda v: v / count, total, dtype=wide)
    centred = b.map(lambda v, m: v.cast(wide) - m, x, mean, dtype=wide, shape=x.shape)
    squares = b.reduce(centred, axes, "sum", element=lambda v: v * v)
    rstd = b.map(
        lambda v: constant(1, wide) / (v / count + epsilon).math("sqrt"), squares, dtype=wide
    )
    types = [node.result(place) for place in (1, 2)]
    found = [b.reshape(v, t.shape) for v, t in zip((mean, rstd), types, strict=True)]
    return [cast(b, v, t.dtype) for v, t in zip(found, types, strict=True)]


@handles("native_group_norm")
def group_norm(node: AtenNode) -> Sequence[Result]:
    """Rows of one group each are normalized; scale and bias are of channels."""
    x, b, groups = node.tensor("input"), node.b, int(node["group"])
    if 0 in x.shape:
        raise node.unsupported("a norm without elements")
    rows = b.reshape(x, [x.shape[0], groups, -(-int(np.prod(x.shape[1:])) // groups)])
    result = b.reshape(named.layer_norm(b, rows, 2, _epsilon(node)), x.shape)
    channels = [x.shape[1], *[1] * (x.rank - 2)]
    names = [name for name in ("weight", "bias") if node.has(name)]
    vectors = [b.reshape(node.tensor(name), channels) for name in names]
    wide = accumulator_of(x.dtype)

    def body(v: Scalar, *given: Scalar) -> Scalar:
        v = v.cast(wide)
        for name, each in zip(names, given, strict=True):
            v = v * each.cast(wide) if name == "weight" else v + each.cast(wide)
        return v.cast(x.dtype)

    found = b.map(body, result, *vectors, dtype=x.dtype) if names else result
    return [found, *_statistics(node, rows, [2])]
