# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gradients of poolings."""

from __future__ import annotations

from math import prod

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.ops.adaptive_pool import averaged_back, summed_back, windows_of
from xyntra.frontends.torch.ops.nn import divisors, spatial
from xyntra.frontends.weight_types import dtype_of


@handles("max_pool2d_with_indices_backward", "max_pool3d_with_indices_backward")
def max_pool_backward(node: AtenNode) -> Result:
    """Each element goes to the place of the maximum that it is of; windows may share one."""
    rank = 3 if "3d" in node.call.operator else 2
    grad, places, x = (node.tensor(name) for name in ("grad_output", "indices", "self"))
    return _scattered(node, grad, places, x, rank)


@handles("adaptive_max_pool2d_backward", "adaptive_max_pool3d_backward")
def adaptive_max_pool_backward(node: AtenNode) -> Result:
    rank = 3 if "3d" in node.call.operator else 2
    grad, places, x = (node.tensor(name) for name in ("grad_output", "indices", "self"))
    return _scattered(node, grad, places, x, rank)


def _scattered(node: AtenNode, grad: Tensor, places: Tensor, x: Tensor, rank: int) -> Tensor:
    """Add the elements of `grad` up at their flat places in images of `x`."""
    b = node.b
    if 0 in x.shape or 0 in grad.shape:
        return _zeros(node, x)
    images, size = prod(x.shape[:-rank]), prod(x.shape[-rank:])
    flat = [images, prod(grad.shape[-rank:])]
    wide = accumulator_of(x.dtype)
    start = Tensor(b.fill([images, size], wide, 0), wide)
    source = b.map(lambda v: v.cast(wide), b.reshape(grad, flat), dtype=wide)
    found = node.by_onnx(
        "ScatterElements", start, b.reshape(places, flat), source, axis=1, reduction="add"
    )[0]
    narrow = b.map(lambda v: v.cast(x.dtype), found, dtype=x.dtype)
    return b.reshape(narrow, x.shape)


def _zeros(node: AtenNode, x: Tensor) -> Tensor:
    """The gradient of an image that no window reads, or that has no elements."""
    return Tensor(node.b.fill(x.shape, x.dtype, 0), x.dtype)


@handles("avg_pool1d_backward", "avg_pool2d_backward", "avg_pool3d_backward")
def average_pool_backward(node: AtenNode) -> Result:
    """Each element, over the number that it is the mean of, goes to its whole window."""
    rank = int(node.call.operator.split("avg_pool")[1][0])
    grad, x, b = node.tensor("grad_output"), node.tensor("self"), node.b
    if 0 in x.shape or 0 in grad.shape:
        return _zeros(node, x)
    kernel, pads = spatial(node["kernel_size"], rank), spatial(node["padding"], rank)
    strides = spatial(node["stride"], rank) if node["stride"] else kernel
    sizes, counted = x.shape[-rank:], grad.shape[-rank:]
    rest = [
        n - ((o - 1) * s - 2 * p + k)
        for n, o, s, p, k in zip(sizes, counted, strides, pads, kernel, strict=True)
    ]
    axes = sizes, counted, strides, pads, kernel
    images = prod(x.shape[:-rank])
    wide = accumulator_of(x.dtype)
    one = divisors(node, *axes).astype(dtype_of(wide)).reshape(1, 1, *counted)
    divided = b.map(
        lambda v, n: v.cast(wide) / n, b.reshape(grad, [images, 1, *counted]), one, dtype=wide
    )
    if any(not 0 <= r < s for r, s in zip(rest, strides, strict=True)):
        found = summed_back(b, divided, windows_of(*axes), sizes)  # windows end outside of it
        return b.reshape(b.map(lambda v: v.cast(x.dtype), found, dtype=x.dtype), x.shape)
    ones = Tensor(b.fill([1, 1, *kernel], wide, 1), wide)
    found = node.by_onnx(
        "ConvTranspose", divided, ones, strides=strides, pads=[*pads, *pads], output_padding=rest
    )[0]
    narrow = b.map(lambda v: v.cast(x.dtype), found, dtype=x.dtype)
    return b.reshape(narrow, x.shape)


@handles("_adaptive_avg_pool2d_backward", "_adaptive_avg_pool3d_backward")
def adaptive_average_pool_backward(node: AtenNode) -> Tensor:
    """Windows of one size do not overlap: each element goes to a block."""
    rank = 3 if "3d" in node.call.operator else 2
    grad, x, b = node.tensor("grad_output"), node.tensor("self"), node.b
    outer, sizes, counted = x.shape[:-rank], x.shape[-rank:], grad.shape[-rank:]
    if 0 in grad.shape or 0 in x.shape:
        return _zeros(node, x)
    if any(n % o for n, o in zip(sizes, counted, strict=True)):
        return averaged_back(b, grad, sizes)
    kernel = [n // o for n, o in zip(sizes, counted, strict=True)]
    wide, count = accumulator_of(x.dtype), float(prod(kernel))
    divided = b.map(lambda v: (v.cast(wide) / count).cast(x.dtype), grad, dtype=x.dtype)
    single = [each for o in counted for each in (o, 1)]
    spread = [each for o, k in zip(counted, kernel, strict=True) for each in (o, k)]
    rows = b.broadcast_to(b.reshape(divided, [*outer, *single]), [*outer, *spread])
    return b.reshape(rows, x.shape)
