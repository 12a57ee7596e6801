# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that onnxruntime's optimizer writes into diffusion models (domain com.microsoft).

Images have their channels last. The definitions are those of onnxruntime's ContribOperators.md.
"""

from __future__ import annotations

from dataclasses import replace

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import check_vectors, map_float
from xyntra.frontends.onnx.ops.nn.conv import convolution
from xyntra.frontends.onnx.ops.nn.norm import normalise_groups
from xyntra.frontends.onnx.opsets import MICROSOFT


@handles("BiasSplitGelu", domain=MICROSOFT)
def bias_split_gelu(node: Node) -> Tensor:
    """The first half of the biased channels times the gelu of the second."""
    x, b = node.tensor(0), node.b
    if x.rank < 1 or x.shape[-1] % 2:
        raise node.invalid(f"an input {x.shape} does not split into halves")
    (bias,) = check_vectors(node, [1], x.shape[-1])
    total = map_float(b, lambda v, c: v + c, x, bias)
    half = x.shape[-1] // 2
    sizes = [*x.shape[:-1], half]
    left, right = (
        b.slice(total, [0] * (x.rank - 1) + [start], sizes, [1] * x.rank) for start in (0, half)
    )
    return map_float(b, lambda v, g: v * g, left, named.gelu(b, right))


@handles("GroupNorm", domain=MICROSOFT)
def group_norm(node: Node) -> Tensor:
    return _group_norm(node, node.tensor(0))


@handles("SkipGroupNorm", domain=MICROSOFT)
def skip_group_norm(node: Node) -> list[Tensor]:
    """Also gives the sum of the input, of what skips a layer and of an optional bias."""
    x, skip = node.tensor(0), node.tensor(3)
    extra = [node.tensor(4)] if node.has(4) else []
    if skip.rank == 2:
        skip = node.b.reshape(skip, [skip.shape[0], 1, 1, skip.shape[1]])
    for operand in (skip, *extra):
        if broadcast_shapes(x.shape, operand.shape) != x.shape:
            raise node.invalid(f"an addend {operand.shape} does not fit an input {x.shape}")

    def body(value: Scalar, *others: Scalar) -> Scalar:
        for other in others:
            value = value + other
        return value

    total = map_float(node.b, body, x, skip, *extra)
    return [_group_norm(node, total), total]


def _group_norm(node: Node, x: Tensor) -> Tensor:
    b, groups = node.b, int(node.required("groups"))
    last = bool(node.attribute("channels_last", 1))
    if x.rank != 4:
        raise node.invalid(f"the input has shape {x.shape}, expected four dimensions")
    image = b.transpose(x, [0, 3, 1, 2]) if last else x
    if groups < 1 or image.shape[1] % groups:
        raise node.invalid(f"{image.shape[1]} channels do not split into {groups} groups")
    scale, bias = check_vectors(node, [1, 2], image.shape[1])
    result = normalise_groups(node, image, groups, scale, bias)
    if node.attribute("activation", 0):
        result = named.silu(b, result)
    return b.transpose(result, [0, 2, 3, 1]) if last else result


@handles("NhwcConv", domain=MICROSOFT)
def nhwc_conv(node: Node) -> Tensor:
    """Input [N, H, W, C] and weight [M, kernel height, kernel width, C / groups]."""
    images = [node.tensor(i) for i in range(2)]
    if any(x.rank != 4 for x in images):
        raise node.invalid(f"shapes {[x.shape for x in images]}, expected four dimensions")
    turned = [node.b.transpose(x, [0, 3, 1, 2]) for x in images]
    result = convolution(replace(node, operands=(*turned, *node.operands[2:])))
    return node.b.transpose(result, [0, 2, 3, 1])
