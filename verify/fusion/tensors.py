# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes reductions, contractions and named ops, with error bounds."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from verify.fusion.scalars import BINARY, UNARY, cast, wide
from verify.fusion.values import Known, accumulated, exact, rounded, total
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.tensors.reductions import identity_of

__all__ = ["arg_max", "contract", "convolve", "named", "pool", "reduce"]

Array = np.ndarray[Any, Any]
Bilinear = Callable[[Array, Array], Array]


def reduce(x: Known, kind: str, axes: tuple[int, ...], keepdims: bool) -> Known:
    """A sum, maximum or minimum over `axes`."""
    terms = prod(x.shape[axis] for axis in axes)
    if kind == "sum":

        def add(v: Array) -> Array:
            return v.sum(axis=axes, keepdims=keepdims)

        if is_float(x.dtype):
            return total(x, x.dtype, add, terms)
        with np.errstate(all="ignore"):
            summed = x.value.sum(axis=axes, keepdims=keepdims, dtype=x.dtype)
        return Known(x.dtype, summed, add(x.error))
    pick = np.maximum if kind == "max" else np.minimum
    start = identity_of("max" if kind == "max" else "min", x.dtype)

    def extreme(v: Array) -> Array:
        first: Any = v.dtype.type(start)
        return pick.reduce(v, axis=axes, keepdims=keepdims, initial=first)

    if not is_float(x.dtype):
        return Known(x.dtype, extreme(x.value), x.error.sum(axis=axes, keepdims=keepdims))
    return _extreme(x, extreme, x.error.sum(axis=axes, keepdims=keepdims))


def _extreme(x: Known, extreme: Callable[[Array], Array], errors: Array) -> Known:
    with np.errstate(all="ignore"):
        value = extreme(x.value)
        low, high = extreme(x.value - x.error), extreme(x.value + x.error)
        error = np.maximum(np.abs(high - value), np.abs(value - low))
        error = np.where((high == value) & (low == value), 0.0, error)
        error = np.where(np.isnan(value) & np.isfinite(errors), 0.0, error)
        error = np.where(np.isfinite(errors), error, np.inf)
        return rounded(x.dtype, value, error, 0.0)


def arg_max(x: Known, axis: int) -> Known:
    """Position (int64) of the first maximum; nothing is known where another is as near."""
    value = np.argmax(x.value, axis=axis)
    with np.errstate(all="ignore"):
        best = np.expand_dims(value, axis)
        floor = np.take_along_axis(x.value - x.error, best, axis)
        rivals = x.value + x.error >= floor
    inexact = (x.error > 0).any(axis=axis)
    many = rivals.sum(axis=axis) > 1
    strange = np.isnan(x.value.astype(np.float64)).any(axis=axis)
    unsure = (inexact & many) | (inexact & strange) | ~np.isfinite(x.error).all(axis=axis)
    return Known("int64", value.astype(np.int64), np.where(unsure, np.inf, 0.0))


def contract(equation: str, a: Known, b: Known) -> Known:
    """An einsum of two operands."""
    left, right, out = equation.replace("->", ",").split(",")
    sizes = dict(zip(left + right, a.shape + b.shape, strict=True))
    terms = prod(sizes[c] for c in set(left + right) - set(out))
    return _bilinear(a, b, lambda x, y: _product(left, right, out, x, y), terms)


def _product(left: str, right: str, out: str, x: Array, y: Array) -> Array:
    """An einsum as products of matrices, which have a fast implementation."""
    shared = [c for c in out if c in left and c in right]
    rows = [c for c in left if c not in right]
    columns = [c for c in right if c not in left]
    summed = [c for c in left if c in right and c not in out]
    sizes = dict(zip(left + right, x.shape + y.shape, strict=True))

    def matrix(v: Array, names: str, *groups: list[str]) -> Array:
        shape = [prod(sizes[c] for c in group) for group in groups]
        return v.transpose([names.index(c) for group in groups for c in group]).reshape(shape)

    found = matrix(x, left, shared, rows, summed) @ matrix(y, right, shared, summed, columns)
    order = [*shared, *rows, *columns]
    return found.reshape([sizes[c] for c in order]).transpose([order.index(c) for c in out])


def _bilinear(a: Known, b: Known, product: Bilinear, terms: int) -> Known:
    with np.errstate(all="ignore"):
        if not is_float(a.dtype):
            unsure = product((a.error > 0) * 1.0, np.ones(b.shape))
            unsure = unsure + product(np.ones(a.shape), (b.error > 0) * 1.0)
            return Known(a.dtype, product(a.value, b.value), np.where(unsure > 0, np.inf, 0.0))
        sizes = [np.where(np.isfinite(x.value), np.abs(x.value), 0.0) for x in (a, b)]
        errors = [np.where(x.certain, x.error, 0.0) for x in (a, b)]
        error = product(errors[0], sizes[1] + errors[1]) + product(sizes[0], errors[1])
        blind = product(~a.certain * 1.0, np.ones(b.shape))
        blind = blind + product(np.ones(a.shape), ~b.certain * 1.0)
        error = np.where(blind > 0, np.inf, error)
        # An infinity times something that may be zero is anything.
        vanishing = [
            (error > 0) & (error >= size) for error, size in zip(errors, sizes, strict=True)
        ]
        odd = product(np.isinf(a.value) * 1.0, vanishing[1] * 1.0)
        odd = odd + product(vanishing[0] * 1.0, np.isinf(b.value) * 1.0)
        error = np.where(odd > 0, np.inf, error)
        value, size = product(a.value, b.value), product(*sizes)
        return accumulated(a.dtype, value, size, error, terms)


def convolve(
    x: Known, w: Known, strides: Sequence[int], groups: int, dilations: Sequence[int] = (1, 1)
) -> Known:
    """A convolution [N, C, H, W] with [M, C / groups, kh, kw], x padded already."""

    def product(v: Array, k: Array) -> Array:
        return _convolve(v, k, strides, groups, dilations)

    return _bilinear(x, w, product, prod(w.shape[1:]))


def _convolve(
    x: Array, w: Array, strides: Sequence[int], groups: int, dilations: Sequence[int]
) -> Array:
    spans = [(taps - 1) * apart + 1 for taps, apart in zip(w.shape[2:], dilations, strict=True)]
    windows = np.lib.stride_tricks.sliding_window_view(x, spans, axis=(2, 3))
    windows = windows[:, :, :: strides[0], :: strides[1], :: dilations[0], :: dilations[1]]
    n, channels, *rest = windows.shape
    split = windows.reshape(n, groups, channels // groups, *rest)
    kernel = w.reshape(groups, w.shape[0] // groups, *w.shape[1:])
    found = np.einsum("ngchwij,gmcij->ngmhw", split, kernel, optimize=True)
    return found.reshape(n, w.shape[0], *rest[:2])


def pool(x: Known, kernel: Sequence[int], strides: Sequence[int], kind: str) -> Known:
    """A maximum or a sum over windows of the last two dimensions, x padded already."""

    def windows(v: Array) -> Array:
        view = np.lib.stride_tricks.sliding_window_view(v, tuple(kernel), axis=(2, 3))
        return view[:, :, :: strides[0], :: strides[1]]

    return reduce(x.move(windows), kind, (4, 5), False)


def named(name: str, operands: Sequence[Known], axis: int, epsilon: float) -> Known:
    """What `xyntra.NAME` computes: in float32 for 16-bit operands, rounded once."""
    dtype = operands[0].dtype
    x, *rest = (cast(operand, wide(dtype)) for operand in operands)
    if name in ("gelu", "silu"):
        return cast(_activation(name, x), dtype)
    if name in ("softmax", "log_softmax"):
        return cast(_softmax(name, x, axis), dtype)
    axes = tuple(range(axis, x.value.ndim))
    if name == "layer_norm":
        x = BINARY["sub"].refer(x, _mean(x, axes))
    spread = BINARY["add"].refer(_mean(UNARY["square"].refer(x), axes), _number(epsilon, x.dtype))
    x = BINARY["div"].refer(x, UNARY["sqrt"].refer(spread))
    for position, factor in enumerate(rest):
        x = BINARY["mul" if position == 0 else "add"].refer(x, factor)
    return cast(x, dtype)


def _softmax(name: str, x: Known, axis: int) -> Known:
    shifted = BINARY["sub"].refer(x, reduce(x, "max", (axis,), True))
    powers = UNARY["exp"].refer(shifted)
    sums = reduce(powers, "sum", (axis,), True)
    if name == "softmax":
        return BINARY["div"].refer(powers, sums)
    return BINARY["sub"].refer(shifted, UNARY["log"].refer(sums))


def _activation(name: str, x: Known) -> Known:
    if name == "silu":
        return BINARY["mul"].refer(x, UNARY["sigmoid"].refer(x))
    inner = UNARY["erf"].refer(BINARY["mul"].refer(x, _number(np.sqrt(0.5), x.dtype)))
    half = BINARY["mul"].refer(x, _number(0.5, x.dtype))
    return BINARY["mul"].refer(half, BINARY["add"].refer(inner, _number(1.0, x.dtype)))


def _mean(x: Known, axes: tuple[int, ...]) -> Known:
    count = max(prod(x.shape[axis] for axis in axes), 1)
    return BINARY["mul"].refer(reduce(x, "sum", axes, True), _number(1 / count, x.dtype))


def _number(value: float, dtype: str) -> Known:
    return rounded(dtype, exact(np.array(value)).value, np.zeros(()))
