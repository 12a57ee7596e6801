# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes convolutions, pooling and attention of random models, with error bounds."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod, sqrt
from typing import Any

import numpy as np

from verify.fusion import tensors
from verify.fusion.scalars import BINARY, UNARY, cast, select, wide
from verify.fusion.values import Known, exact
from verify.random_models.case import Step

__all__ = [
    "attention",
    "batch_norm",
    "convolution",
    "global_average",
    "pool",
    "transposed_convolution",
]

Operands = Sequence[Known]


def _padded(x: Known, pads: Sequence[int], value: float) -> Known:
    """With `value` around the last two dimensions; `pads` as in ONNX: starts, then ends."""
    widths = [(0, 0), (0, 0), (pads[0], pads[2]), (pads[1], pads[3])]
    fill: Any = value
    return Known(x.dtype, np.pad(x.value, widths, constant_values=fill), np.pad(x.error, widths))


def _with_bias(y: Known, x: Operands) -> Known:
    if len(x) > 2:
        y = BINARY["add"].refer(y, cast(x[2], y.dtype).move(lambda v: v.reshape(-1, 1, 1)))
    return cast(y, x[0].dtype)


def convolution(step: Step, x: Operands) -> Known:
    """Conv of images with two dimensions; 16-bit floats are added up in float32."""
    given = step.attributes
    image, weight = (cast(k, wide(k.dtype)) for k in x[:2])
    image = _padded(image, given["pads"], 0.0)
    y = tensors.convolve(image, weight, given["strides"], given["group"], given["dilations"])
    return _with_bias(y, x)


def transposed_convolution(step: Step, x: Operands) -> Known:
    """ConvTranspose: a convolution of the image with zeros between its elements."""
    given = step.attributes
    image, weight = (cast(k, wide(k.dtype)) for k in x[:2])
    strides, dilations, groups = given["strides"], given["dilations"], given["group"]
    pads, extra = given["pads"], given["output_padding"]
    taps = weight.shape[2:]

    def spread(v: np.ndarray) -> np.ndarray:
        sizes = [(n - 1) * step + 1 for n, step in zip(v.shape[2:], strides, strict=True)]
        wider = np.zeros((*v.shape[:2], *sizes), v.dtype)
        wider[:, :, :: strides[0], :: strides[1]] = v
        return wider

    def turned(v: np.ndarray) -> np.ndarray:
        """[C, M / groups, kh, kw] as [M, C / groups, kh, kw], with its taps in reverse."""
        split = v.reshape(groups, v.shape[0] // groups, *v.shape[1:])
        mixed = split.swapaxes(1, 2)[..., ::-1, ::-1]
        return mixed.reshape(-1, v.shape[0] // groups, *v.shape[2:])

    around = [apart * (n - 1) for n, apart in zip(taps, dilations, strict=True)]
    widths = [
        *(reach - low for reach, low in zip(around, pads[:2], strict=True)),
        *(r - high + more for r, high, more in zip(around, pads[2:], extra, strict=True)),
    ]
    image = image.move(spread)
    image = _padded(image, [max(w, 0) for w in widths], 0.0)
    cut = [max(-w, 0) for w in widths]
    image = image.move(
        lambda v: v[:, :, cut[0] : v.shape[2] - cut[2], cut[1] : v.shape[3] - cut[3]]
    )
    y = tensors.convolve(image, weight.move(turned), (1, 1), groups, dilations)
    return _with_bias(y, x)


def pool(step: Step, x: Operands) -> Known:
    """MaxPool or AveragePool of images with two dimensions."""
    given, image = step.attributes, cast(x[0], wide(x[0].dtype))
    kernel, strides, pads = given["kernel_shape"], given["strides"], given["pads"]
    if step.op == "MaxPool":
        return cast(tensors.pool(_padded(image, pads, -np.inf), kernel, strides, "max"), x[0].dtype)
    total = tensors.pool(_padded(image, pads, 0.0), kernel, strides, "sum")
    ones = exact(np.ones(x[0].shape[2:])[None, None])
    fill = 1.0 if given.get("count_include_pad") else 0.0
    counts = tensors.pool(_padded(ones, pads, fill), kernel, strides, "sum")
    divisor = exact(counts.value.astype(total.dtype))
    return cast(BINARY["div"].refer(total, divisor), x[0].dtype)


def global_average(_: Step, x: Operands) -> Known:
    """GlobalAveragePool."""
    image = cast(x[0], wide(x[0].dtype))
    total = tensors.reduce(image, "sum", (2, 3), True)
    count = exact(np.array(float(prod(image.shape[2:])), total.dtype))
    return cast(BINARY["div"].refer(total, count), x[0].dtype)


def batch_norm(step: Step, x: Operands) -> Known:
    """BatchNormalization, as one multiplication and one addition, which may enter the weights."""
    y = cast(x[0], wide(x[0].dtype))
    columns = [cast(k, y.dtype).move(lambda v: v.reshape(-1, 1, 1)) for k in x[1:]]
    scale, bias, mean, variance = columns
    epsilon = exact(np.array(step.attributes["epsilon"], y.dtype))
    root = np.sqrt(variance.value + epsilon.value)
    ulp = 4 * np.finfo(y.dtype).eps
    factor = Known(y.dtype, scale.value / root, ulp * np.abs(scale.value / root))
    shift = BINARY["sub"].refer(bias, BINARY["mul"].refer(mean, factor))
    return cast(BINARY["add"].refer(BINARY["mul"].refer(y, factor), shift), x[0].dtype)


def attention(step: Step, x: Operands) -> Known:
    """Attention of [batch, heads, length, size] with 1 to `heads` heads of keys and values.

    Operands: queries, keys, values, and a mask that broadcasts to the scores: booleans, or floats
    that are added.
    """
    given, dtype = step.attributes, x[0].dtype
    query, key, value = (cast(k, wide(dtype)) for k in x[:3])
    groups = key.shape[1]
    shared = query.shape[1] // groups

    def repeated(k: Known) -> Known:
        return k.move(lambda v: np.repeat(v, shared, axis=1))

    scores = tensors.contract("bhqd,bhkd->bhqk", query, repeated(key))
    scale = exact(np.array(given.get("scale", 1 / sqrt(query.shape[-1])), scores.dtype))
    scores = BINARY["mul"].refer(scores, scale)
    if given.get("softcap"):
        scores = _capped(scores, float(given["softcap"]))
    hidden = np.zeros((1, 1, 1, 1), bool)
    odd = ~np.isfinite(scores.value)
    lowest = np.isneginf(scores.value)
    if len(x) > 3:
        hidden = hidden | _hidden(x[3])
        scores = _masked(scores, x[3])
    if given.get("is_causal"):
        seen = np.tri(*scores.shape[2:], dtype=bool)
        hidden = hidden | ~seen
        scores = select(exact(seen), scores, exact(np.array(-np.inf, scores.dtype)))
    weights = cast(tensors.named("softmax", [scores], 3, 0.0), dtype)
    if len(x) > 3:
        blind = np.broadcast_to(hidden, scores.shape).all(axis=3, keepdims=True)
        weights = select(exact(blind), exact(np.zeros((), dtype)), weights)
        # With a mask, a row of which each score is -inf is taken for one that it hides.
        weights = _unknown_where(weights, (lowest | hidden).all(axis=3, keepdims=True) & ~blind)
    values = repeated(value)
    result = tensors.contract("bhqk,bhkd->bhqd", cast(weights, wide(dtype)), values)
    return cast(_without_strange(result, values, hidden, odd), dtype)


def _capped(scores: Known, cap: float) -> Known:
    """`cap * tanh(scores / cap)`; kernels may be off by 2^-20 of the cap."""
    bound = exact(np.array(cap, scores.dtype))
    turned = UNARY["tanh"].refer(BINARY["div"].refer(scores, bound))
    found = BINARY["mul"].refer(turned, bound)
    return Known(found.dtype, found.value, found.error + cap * 2.0**-20)


def _without_strange(result: Known, values: Known, hidden: np.ndarray, odd: np.ndarray) -> Known:
    """Nothing is known where hidden keys have scores or values that are not finite.

    Kernels may skip them, add -inf to a NaN, or multiply infinities by zero.
    """
    hidden = np.broadcast_to(hidden, odd.shape)
    rows = (odd & hidden).any(axis=3, keepdims=True)
    columns = (hidden * 1.0) @ (~np.isfinite(values.value) * 1.0) > 0
    return _unknown_where(result, rows | columns)


def _unknown_where(known: Known, where: np.ndarray) -> Known:
    return Known(known.dtype, known.value, np.where(where, np.inf, known.error))


def _hidden(mask: Known) -> np.ndarray:
    return ~mask.value if mask.dtype == "bool" else np.isneginf(mask.value)


def _masked(scores: Known, mask: Known) -> Known:
    if mask.dtype == "bool":
        return select(mask, scores, exact(np.array(-np.inf, scores.dtype)))
    return BINARY["add"].refer(scores, cast(mask, scores.dtype))
