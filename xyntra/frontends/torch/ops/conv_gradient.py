# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of convolutions: of the input by a convolution, of the weight by contractions."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import prod
from typing import Any

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.ops.nn import spatial

_MOST_TAPS = 125
"""Elements of a kernel of which each is a contraction of its own."""


@handles("convolution_backward")
def convolution_backward(node: AtenNode) -> Sequence[Result]:
    """The gradients of input, weight and bias; None for those that nobody wants."""
    grad, x, weight = (node.tensor(name) for name in ("grad_output", "input", "weight"))
    if 0 in grad.shape or 0 in x.shape or 0 in weight.shape:
        raise node.unsupported("a convolution without elements")
    wanted = node["output_mask"]
    return [
        _of_input(node, grad, x, weight) if wanted[0] else None,
        _of_weight(node, grad, x, weight) if wanted[1] else None,
        _of_bias(node, grad) if wanted[2] else None,
    ]


def _of_input(node: AtenNode, grad: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """A convolution's is the transposed convolution of the gradient, and the other way round."""
    rank = weight.rank - 2
    strides, pads, dilations = _geometry(node, rank)
    window: dict[str, Any] = {"strides": strides, "dilations": dilations, "pads": [*pads, *pads]}
    groups = int(node["groups"])
    if node["transposed"]:
        return node.by_onnx("Conv", grad, weight, group=groups, **window)[0]
    reached = [
        (n - 1) * s - 2 * p + d * (k - 1) + 1
        for n, s, p, d, k in zip(
            grad.shape[2:], strides, pads, dilations, weight.shape[2:], strict=True
        )
    ]
    rest = [n - r for n, r in zip(x.shape[2:], reached, strict=True)]
    return node.by_onnx("ConvTranspose", grad, weight, group=groups, output_padding=rest, **window)[
        0
    ]


def _of_weight(node: AtenNode, grad: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """For each element of the kernel, the product of the gradient and what it was multiplied by.

    The roles of gradient and input are exchanged where the convolution is transposed.
    """
    b, rank = node.b, weight.rank - 2
    strides, pads, dilations = _geometry(node, rank)
    kernel = weight.shape[2:]
    plain = not any(pads) and set(dilations) <= {1} and int(node["groups"]) == 1
    if plain and tuple(strides) == tuple(kernel) and not node["transposed"]:
        return cast(b, _of_patches(node, grad, x, weight), weight.dtype)
    if prod(kernel) > _MOST_TAPS:
        raise node.unsupported(f"the gradient of a kernel of {list(kernel)} elements")
    fixed, moved = (x, grad) if node["transposed"] else (grad, x)
    out = fixed.shape[2:]
    spans = [
        (n - 1) * s + d * (k - 1) + 1
        for n, s, d, k in zip(out, strides, dilations, kernel, strict=True)
    ]
    high = [max(span - n - p, 0) for span, n, p in zip(spans, moved.shape[2:], pads, strict=True)]
    padded = b.pad(moved, [0, 0, *pads], [0, 0, *high], 0)
    taps = []
    for place in product(*(range(k) for k in kernel)):
        starts = [0, 0, *(i * d for i, d in zip(place, dilations, strict=True))]
        part = b.slice(padded, starts, [*moved.shape[:2], *out], [1, 1, *strides])
        taps.append(_contracted(node, fixed, part))
    if len(taps) == 1:
        return cast(b, b.reshape(taps[0], weight.shape), weight.dtype)
    columns = [b.reshape(tap, [*weight.shape[:2], 1]) for tap in taps]
    joined = node.by_onnx("Concat", *columns, axis=2)[0]
    return cast(b, b.reshape(joined, weight.shape), weight.dtype)


def _of_patches(node: AtenNode, grad: Tensor, x: Tensor, weight: Tensor) -> Tensor:
    """Sum products of the gradient and of patches side by side, all elements in one contraction."""
    b, kernel, out = node.b, weight.shape[2:], grad.shape[2:]
    used = [n * k for n, k in zip(out, kernel, strict=True)]
    whole = b.slice(x, [0] * x.rank, [*x.shape[:2], *used], [1] * x.rank)
    split = [size for pair in zip(out, kernel, strict=True) for size in pair]
    patches = b.reshape(whole, [*x.shape[:2], *split])
    space, places = "hwd"[: len(out)], "xyz"[: len(out)]
    inner = "".join(a + c for a, c in zip(space, places, strict=True))
    return b.einsum(f"nm{space},nc{inner}->mc{places}", grad, patches, accumulator_of(grad.dtype))


def _contracted(node: AtenNode, fixed: Tensor, part: Tensor) -> Tensor:
    """Sum the products of two images [N, channels, *spatial] over N and space, group by group."""
    b, groups, space = node.b, int(node["groups"]), "hwdxyz"[: fixed.rank - 2]
    wide = accumulator_of(fixed.dtype)
    if groups == 1:
        return b.einsum(f"nm{space},nc{space}->mc", fixed, part, wide)
    fixed, part = (
        b.reshape(t, [t.shape[0], groups, t.shape[1] // groups, *t.shape[2:]])
        for t in (fixed, part)
    )
    return b.einsum(f"ngm{space},ngc{space}->gmc", fixed, part, wide)


def _of_bias(node: AtenNode, grad: Tensor) -> Tensor:
    axes = [0, *range(2, grad.rank)]
    wide = accumulator_of(grad.dtype)
    total = node.b.reduce(grad, axes, "sum", keepdims=False, accumulator=wide)
    return cast(node.b, total, grad.dtype)


def _geometry(node: AtenNode, rank: int) -> tuple[list[int], list[int], list[int]]:
    strides, pads, dilations = (
        spatial(node[name], rank) for name in ("stride", "padding", "dilation")
    )
    return strides, pads, dilations
