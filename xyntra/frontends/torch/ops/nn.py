# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions, poolings, norms and attention, by the importers of their ONNX operators."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.torch.node import AtenNode, Result, handles
from xyntra.frontends.torch.ops.adaptive_pool import averaged, maxima, summed, windows_of
from xyntra.frontends.weight_types import dtype_of


def spatial(values: Any, rank: int) -> list[int]:
    """Return an argument of one integer a dimension; one alone counts for all."""
    given = [int(each) for each in (values if isinstance(values, list) else [values])]
    return given * rank if len(given) == 1 else given


@handles("convolution")
def convolution(node: AtenNode) -> Result:
    """Input [N, C, *spatial]; weight [M, C / groups, *kernel], or [C, M / groups, *kernel]."""
    x, weight = node.tensor("input"), node.tensor("weight")
    bias = node.tensor("bias") if node.has("bias") else None
    if not is_float(x.dtype):
        raise node.unsupported(f"convolutions of {x.dtype}")
    if 0 in x.shape or 0 in weight.shape:
        raise node.unsupported("a convolution without elements")
    rank = weight.rank - 2
    transposed = bool(node["transposed"])
    pads = spatial(node["padding"], rank)
    extra = spatial(node["output_padding"], rank) if transposed else None
    return node.by_onnx(
        "ConvTranspose" if transposed else "Conv",
        x,
        weight,
        bias,
        strides=spatial(node["stride"], rank),
        dilations=spatial(node["dilation"], rank),
        pads=[*pads, *pads],
        group=int(node["groups"]),
        output_padding=extra,
    )[0]


def _window(node: AtenNode, rank: int) -> dict[str, Any]:
    kernel = spatial(node["kernel_size"], rank)
    pads = spatial(node["padding"], rank)
    return {
        "kernel_shape": kernel,
        "strides": spatial(node["stride"], rank) if node["stride"] else kernel,
        "pads": [*pads, *pads],
        "ceil_mode": int(bool(node["ceil_mode"])),
    }


def _batched(node: AtenNode, rank: int) -> Tensor:
    """The image with a batch: PyTorch takes one alone as well."""
    x = node.tensor("self")
    if not is_float(x.dtype) or 0 in x.shape:
        raise node.unsupported(f"a pooling of {x.dtype} {list(x.shape)}")
    return x if x.rank == rank + 2 else node.b.reshape(x, [1, *x.shape])


@handles("max_pool2d_with_indices", "max_pool3d_with_indices")
def max_pool(node: AtenNode) -> Sequence[Result]:
    """The second result holds the places of the maxima in their own image."""
    rank = 3 if "3d" in node.call.operator else 2
    if 0 in node.shape:
        return [_nothing(node), _nothing(node, 1)]
    window = _window(node, rank)
    x = _batched(node, rank)
    dilations = spatial(node["dilation"], rank)
    return _maxima(node, x, {**window, "dilations": dilations})


def _maxima(node: AtenNode, x: Tensor, window: dict[str, Any]) -> Sequence[Result]:
    """Return maxima by the kernel of their own, and their places by another that has both."""
    b, size = node.b, int(np.prod(x.shape[2:]))
    (found,) = node.by_onnx("MaxPool", x, **window)
    places = node.by_onnx("MaxPool", x, outputs=2, **window)[1]

    def in_its_image(place: Scalar) -> Scalar:
        image = b.index(0) * x.shape[1] + b.index(1)
        return place - (image * size).cast("int64")

    inner = b.map(in_its_image, places, dtype="int64")
    return [b.reshape(found, node.shape), b.reshape(inner, node.shape)]


@handles("adaptive_max_pool2d", "adaptive_max_pool3d")
def adaptive_max_pool(node: AtenNode) -> Sequence[Result]:
    """Windows of one size are those of a pooling."""
    if 0 in node.shape:
        return [_nothing(node), _nothing(node, 1)]
    counts = [int(each) for each in node["output_size"]]
    x = _batched(node, len(counts))
    if any(n % count for n, count in zip(x.shape[2:], counts, strict=True)):
        return [node.b.reshape(each, node.shape) for each in maxima(node.b, x, counts)]
    kernel = [n // count for n, count in zip(x.shape[2:], counts, strict=True)]
    return _maxima(node, x, {"kernel_shape": kernel, "strides": kernel})


@handles("avg_pool1d", "avg_pool2d", "avg_pool3d")
def average_pool(node: AtenNode) -> Tensor:
    rank = int(node.call.operator.split("avg_pool")[1][0])
    if 0 in node.shape:
        return _nothing(node)
    window = _window(node, rank)
    if node.has("divisor_override") or (
        window["ceil_mode"] and any(window["pads"]) and node["count_include_pad"]
    ):
        return _over_divisors(node, window["strides"], rank)
    include = int(bool(node["count_include_pad"]))
    x = _batched(node, rank)
    found = node.by_onnx("AveragePool", x, count_include_pad=include, **window)[0]
    return node.b.reshape(found, node.shape)


def _over_divisors(node: AtenNode, strides: Sequence[int], rank: int) -> Tensor:
    """Sums of windows over what PyTorch divides each by, in images of any size."""
    kernel, pads = spatial(node["kernel_size"], rank), spatial(node["padding"], rank)
    x, counts = _batched(node, rank), node.shape[-rank:]
    axes = x.shape[-rank:], counts, strides, pads, kernel
    total = summed(node.b, x, windows_of(*axes))
    divided = node.b.map(
        lambda v, n: (v / n).cast(node.dtype),
        total,
        divisors(node, *axes).astype(dtype_of(total.dtype)),
        dtype=node.dtype,
    )
    return node.b.reshape(divided, node.shape)


def divisors(node: AtenNode, *axes: Sequence[int]) -> np.ndarray:
    """Return what the sum of each window is divided by.

    Args:
        node: an average pooling, or its gradient.
        axes: size, number of windows, stride, padding and length of windows by dimension.
    """
    if node.has("divisor_override"):
        return np.full(axes[1], int(node["divisor_override"]))
    shares = [
        _shares(*each, inside=not node["count_include_pad"]) for each in zip(*axes, strict=True)
    ]
    found: np.ndarray = np.prod(np.meshgrid(*shares, indexing="ij"), axis=0)
    return found


def _shares(
    size: int, count: int, stride: int, pad: int, kernel: int, *, inside: bool
) -> np.ndarray:
    """Return how many elements of one dimension each window divides by."""
    starts = np.arange(count) * stride - pad
    if not inside:
        return np.minimum(starts + kernel, size + pad) - starts
    return np.minimum(starts + kernel, size) - np.maximum(starts, 0)


def _nothing(node: AtenNode, place: int = 0) -> Tensor:
    type_ = node.result(place)
    return Tensor(node.b.fill(type_.shape, type_.dtype, 0), type_.dtype)


@handles("_adaptive_avg_pool2d", "_adaptive_avg_pool3d", "adaptive_avg_pool1d")
def adaptive_average_pool(node: AtenNode) -> Tensor:
    """Windows of one size are those of a pooling."""
    if 0 in node.shape:
        return _nothing(node)
    counts = [int(each) for each in node["output_size"]]
    x = _batched(node, len(counts))
    if any(n % count for n, count in zip(x.shape[2:], counts, strict=True)):
        return node.b.reshape(averaged(node.b, x, counts), node.shape)
    kernel = [n // count for n, count in zip(x.shape[2:], counts, strict=True)]
    found = node.by_onnx("AveragePool", x, kernel_shape=kernel, strides=kernel)[0]
    return node.b.reshape(found, node.shape)


@handles("scaled_dot_product_attention")
def attention(node: AtenNode) -> Result:
    """Leading dimensions are batch and heads; PyTorch allows any number of them."""
    if node["dropout_p"]:
        raise node.unsupported("dropout", hint="module.eval() before compiling")
    b = node.b
    query, key, value = (node.tensor(name) for name in ("query", "key", "value"))
    mask = node.operand("attn_mask") if node.has("attn_mask") else None
    if query.rank == 3:
        query, key, value = (
            b.reshape(t, [t.shape[0], 1, *t.shape[1:]]) for t in (query, key, value)
        )
        if mask is not None and len(mask.shape) == 3:
            mask = b.reshape(b.tensor(mask), [mask.shape[0], 1, *mask.shape[1:]])
    if query.rank != 4 or 0 in query.shape or 0 in key.shape:
        raise node.unsupported(f"a query of shape {list(query.shape)}")
    if query.shape[0] != key.shape[0] or key.shape[:2] != value.shape[:2]:
        raise node.unsupported("heads or batches that broadcast")
    found = node.by_onnx(
        "Attention",
        query,
        key,
        value,
        mask,
        is_causal=int(bool(node["is_causal"])),
        scale=None if node["scale"] is None else float(node["scale"]),
    )[0]
    return b.reshape(found, node.shape)


@handles("upsample_nearest2d", "upsample_nearest1d", "upsample_nearest3d")
def upsample_nearest(node: AtenNode) -> Result:
    """Only by whole factors, where all definitions of the nearest pixel agree."""
    x = node.tensor("input") if "input" in node.arguments else node.tensor("self")
    if any(want % n for n, want in zip(x.shape[2:], node.shape[2:], strict=True) if n):
        raise node.unsupported(f"from {list(x.shape[2:])} to {list(node.shape[2:])}")
    sizes = np.array(node.shape, np.int64)
    return node.by_onnx(
        "Resize",
        x,
        None,
        None,
        sizes,
        mode="nearest",
        coordinate_transformation_mode="asymmetric",
        nearest_mode="floor",
    )[0]


@handles("upsample_bilinear2d")
def upsample_bilinear(node: AtenNode) -> Result:
    x = node.tensor("input") if "input" in node.arguments else node.tensor("self")
    sizes = np.array(node.shape, np.int64)
    factors = node["scale_factors"]
    if factors and any(int(f) != f for f in factors):
        raise node.unsupported(f"scale factors {factors}, which are no integers")
    mode = "align_corners" if node["align_corners"] else "half_pixel"
    return node.by_onnx(
        "Resize", x, None, None, sizes, mode="linear", coordinate_transformation_mode=mode
    )[0]


@handles("grid_sampler_2d", "grid_sampler_3d")
def grid_sampler(node: AtenNode) -> Result:
    """Modes are numbers here: bilinear, nearest, bicubic; zeros, border, reflection."""
    return node.by_onnx(
        "GridSample",
        node.tensor("input"),
        node.tensor("grid"),
        mode=("linear", "nearest", "cubic")[int(node["interpolation_mode"])],
        padding_mode=("zeros", "border", "reflection")[int(node["padding_mode"])],
        align_corners=int(bool(node["align_corners"])),
    )[0]
