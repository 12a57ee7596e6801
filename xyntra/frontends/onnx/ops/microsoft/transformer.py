# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fused operators that onnxruntime's optimizer and exporters write (domain com.microsoft).

Their definitions are those of onnxruntime's docs/ContribOperators.md.
"""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.activation import swish_of
from xyntra.frontends.onnx.ops.elementwise.precision import (
    accumulator_of,
    cast,
    check_vectors,
    map_float,
)
from xyntra.frontends.onnx.ops.nn.matmul import matrix_product
from xyntra.frontends.onnx.opsets import MICROSOFT


@handles("Gelu", domain=MICROSOFT)
def gelu(node: Node) -> Tensor:
    return named.gelu(node.b, node.tensor(0))


@handles("BiasGelu", domain=MICROSOFT)
def bias_gelu(node: Node) -> Tensor:
    return named.gelu(node.b, _with_bias(node, 1))


@handles("FastGelu", domain=MICROSOFT)
def fast_gelu(node: Node) -> Tensor:
    return named.gelu(node.b, _with_bias(node, 1), "tanh")


def _with_bias(node: Node, position: int) -> Tensor:
    """The first input plus an optional bias of its last dimension."""
    x = node.tensor(0)
    if not node.has(position):
        return x
    (bias,) = check_vectors(node, [position], x.shape[-1])
    return node.b.map(lambda v, c: v + c, x, bias, dtype=x.dtype)


@handles("QuickGelu", domain=MICROSOFT)
def quick_gelu(node: Node) -> Tensor:
    alpha = float(node.attribute("alpha", 1.702))
    return map_float(node.b, lambda x: swish_of(x, alpha), node.tensor(0))


@handles("FusedMatMul", domain=MICROSOFT)
def fused_matmul(node: Node) -> Tensor:
    if node.attribute("transBatchA", 0) or node.attribute("transBatchB", 0):
        raise node.unsupported("transposed batch dimensions")
    a, b = (
        _transposed(node, position, bool(node.attribute(name, 0)))
        for position, name in ((0, "transA"), (1, "transB"))
    )
    alpha, dtype = float(node.attribute("alpha", 1.0)), a.dtype
    product = matrix_product(node, a, b, accumulator_of(dtype))
    if alpha == 1:
        return cast(node.b, product, dtype)
    return node.b.map(lambda v: (v * alpha).cast(dtype), product, dtype=dtype)


def _transposed(node: Node, position: int, swap: bool) -> Tensor:
    x = node.tensor(position)
    if not swap or x.rank < 2:
        return x
    return node.b.transpose(x, [*range(x.rank - 2), x.rank - 1, x.rank - 2])


@handles("SkipLayerNormalization", domain=MICROSOFT)
def skip_layer_norm(node: Node) -> Sequence[Tensor | None]:
    total = _with_skip(node, bias=4)
    scale = check_vectors(node, [2], total.shape[-1])[0]
    shift = check_vectors(node, [3], total.shape[-1])[0] if node.has(3) else None
    epsilon = float(node.attribute("epsilon", 1e-12))
    result = named.layer_norm(node.b, total, total.rank - 1, epsilon, scale, shift)
    return [result, None, None, total]


@handles("SkipSimplifiedLayerNormalization", domain=MICROSOFT)
def skip_rms_norm(node: Node) -> Sequence[Tensor | None]:
    total = _with_skip(node, bias=3)
    scale = check_vectors(node, [2], total.shape[-1])[0]
    epsilon = float(node.attribute("epsilon", 1e-12))
    return [named.rms_norm(node.b, total, total.rank - 1, epsilon, scale), None, None, total]


def _with_skip(node: Node, bias: int) -> Tensor:
    """The sum of the input, of what skips a layer, and of an optional bias."""
    x, skip = node.tensor(0), node.tensor(1)
    if x.rank < 2 or broadcast_shapes(x.shape, skip.shape) != x.shape:
        raise node.invalid(f"input {x.shape} and skip {skip.shape} do not fit")
    extra = check_vectors(node, [bias], x.shape[-1]) if node.has(bias) else []

    def body(value: Scalar, other: Scalar, *more: Scalar) -> Scalar:
        result = value + other
        for addend in more:
            result = result + addend
        return result

    return map_float(node.b, body, x, skip, *extra)
