# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of convolutions: of the input by a convolution, of the weight by one as well."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.ops.nn import spatial


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
    """A convolution with the gradient as its kernel, where images and channels change places.

    An element of the kernel meets the input at every output's position: strides and dilations
    change places as well. The roles of gradient and input are exchanged where the convolution is
    transposed.
    """
    b, rank = node.b, weight.rank - 2
    strides, pads, dilations = _geometry(node, rank)
    kernel = weight.shape[2:]
    plain = not any(pads) and set(dilations) <= {1} and int(node["groups"]) == 1
    if plain and tuple(strides) == tuple(kernel) and not node["transposed"]:
        return cast(b, _of_patches(node, grad, x, weight), weight.dtype)
    fixed, moved = (x, grad) if node["transposed"] else (grad, x)
    groups = int(node["groups"])
    rest = [
        (n - 1) * s + d * (k - 1) + 1 - size - p
        for n, s, d, k, size, p in zip(
            fixed.shape[2:], strides, dilations, kernel, moved.shape[2:], pads, strict=True
        )
    ]
    ends = [max(r, 0) for r in rest]
    window: dict[str, Any] = {"strides": dilations, "dilations": strides, "pads": [*pads, *ends]}
    images = _images_as_channels(b, _reached(node, moved, rest), groups)
    kernels = b.transpose(fixed, [1, 0, *range(2, fixed.rank)])
    found = node.by_onnx("Conv", images, kernels, group=groups, **window)[0]
    return cast(b, b.transpose(found, [1, 0, *range(2, found.rank)]), weight.dtype)


def _reached(node: AtenNode, images: Tensor, rest: list[int]) -> Tensor:
    """Leave out what lies behind the last window, where the padding `rest` would be negative."""
    space = [n + min(r, 0) for n, r in zip(images.shape[2:], rest, strict=True)]
    if any(n < 1 for n in space):
        raise node.unsupported("windows that lie in the padding alone")
    return node.b.slice(images, [0] * images.rank, [*images.shape[:2], *space], [1] * images.rank)


def _images_as_channels(b: TensorBuilder, images: Tensor, groups: int) -> Tensor:
    """Turn [N, groups * C, *spatial] into [C, groups * N, *spatial]."""
    count, channels, *space = images.shape
    split = b.reshape(images, [count, groups, channels // groups, *space])
    turned = b.transpose(split, [2, 1, 0, *range(3, split.rank)])
    return b.reshape(turned, [channels // groups, groups * count, *space])


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
