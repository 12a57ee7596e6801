# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for Fourier transforms, as products with matrices of roots of unity.

A transform of n = a * b elements is one of a, a turn of each element, and one of b (Cooley and
Tukey, 1965); what is not divided further is a product with an n x n matrix.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from xyntra.frontends.torch.complex_pairs.arithmetic import ARITHMETIC
from xyntra.frontends.torch.complex_pairs.pair import Pair, Rule
from xyntra.frontends.torch.reducing.traces import TooHardError

__all__ = ["FOURIER"]

_DIRECT = 128
"""Elements up to which a transform is one product."""
_LARGEST = 2048
"""The largest matrix that a transform without small factors may take."""
_mul = ARITHMETIC["mul"]
_product = ARITHMETIC["matmul"]


def _c2c(x: Any, dim: Sequence[int], normalization: int, forward: bool) -> Any:
    return _scaled(_over_all(x, dim, forward), _sizes(x, dim), normalization)


def _r2c(x: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Any:
    sizes = _sizes(x, dim)
    last = dim[-1]
    result = _over_all(x, [last], forward=True)
    if onesided:
        half = x.shape[last] // 2 + 1
        result = Pair(*(part.narrow(last, 0, half) for part in result))
    return _scaled(_over_all(result, dim[:-1], forward=True), sizes, normalization)


def _c2r(x: Pair, dim: Sequence[int], normalization: int, last_dim_size: int) -> Any:
    last = dim[-1]
    sizes = [*_sizes(x, dim[:-1]), last_dim_size]
    half = _over_all(x, dim[:-1], forward=False)
    half = Pair(*(part.narrow(last, 0, last_dim_size // 2 + 1) for part in half))
    result = _over_all(_whole(half, last, last_dim_size), [last], forward=False)
    return _scaled(result, sizes, normalization).re


def _whole(half: Pair, dim: int, size: int) -> Pair:
    """Return all frequencies of a real signal, of which those above the half are conjugates.

    The imaginary parts of the mean, and of the middle frequency of an even size, count as 0.
    """
    count = (size - 1) // 2
    places = torch.arange(half.re.shape[dim], device=half.re.device)
    alone = (places == 0) | (places * 2 == size)
    shape = [1] * half.re.dim()
    shape[dim] = -1
    im = torch.where(alone.reshape(shape), 0.0, half.im)
    above = [part.narrow(dim, 1, count).flip(dim) for part in (half.re, im)]
    return Pair(torch.cat([half.re, above[0]], dim), torch.cat([im, -above[1]], dim))


def _over_all(x: Any, dims: Sequence[int], forward: bool) -> Any:
    for dim in dims:
        moved = _each(x, lambda part, dim=dim: part.movedim(dim, -1))
        result = _transformed(moved, -1.0 if forward else 1.0)
        x = _each(result, lambda part, dim=dim: part.movedim(-1, dim))
    return x


def _transformed(x: Any, sign: float) -> Any:
    """Return the transform over the last dimension."""
    some = x.re if isinstance(x, Pair) else x
    size = some.shape[-1]
    a = _factor(size)
    if size <= _DIRECT or (a == 1 and size <= _LARGEST):
        return _product(x, _roots(size, size, size, sign, some))
    if a == 1:
        raise TooHardError
    b = size // a
    rows = _each(x, lambda part: part.unflatten(-1, (a, b)).transpose(-1, -2))
    inner = _transformed(rows, sign)  # (..., b, a)
    turned = _mul(inner, _roots(b, a, size, sign, some))
    outer = _transformed(_each(turned, lambda part: part.transpose(-1, -2)), sign)  # (..., a, b)
    return _each(outer, lambda part: part.transpose(-1, -2).flatten(-2))


def _each(x: Any, change: Any) -> Any:
    return Pair(*map(change, x)) if isinstance(x, Pair) else change(x)


def _factor(size: int) -> int:
    """Return the largest divisor up to the square root."""
    return next(a for a in range(math.isqrt(size), 0, -1) if size % a == 0)


def _roots(rows: int, columns: int, size: int, sign: float, like: Tensor) -> Pair:
    """Return the powers row * column of the first root of unity of an order.

    Angles are at most half a turn, so that they keep their digits in 32 bits.
    """
    i = torch.arange(rows, device=like.device)[:, None]
    j = torch.arange(columns, device=like.device)[None, :]
    turns = (i * j + size // 2) % size - size // 2
    angle = turns.to(like.dtype) * (sign * 2 * math.pi / size)
    return Pair(angle.cos(), angle.sin())


def _sizes(x: Any, dims: Sequence[int]) -> list[int]:
    shape = (x.re if isinstance(x, Pair) else x).shape
    return [shape[dim] for dim in dims]


def _scaled(x: Any, sizes: Sequence[int], normalization: int) -> Any:
    """Return a result as PyTorch normalizes it: 0 not at all, 1 by the root, 2 by the count."""
    if normalization == 0:
        return x
    count = math.prod(sizes)
    return _mul(x, 1 / math.sqrt(count) if normalization == 1 else 1 / count)


FOURIER: dict[str, Rule] = {"_fft_c2c": _c2c, "_fft_r2c": _r2c, "_fft_c2r": _c2r}
"""Rules by the names of operators."""
