# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests gradients of kernels against differences of two values of the kernels themselves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.array as xa
import xyntra.lang as xl
from xyntra.errors import UnsupportedError

RANDOM = np.random.default_rng(11)
STEP = 1e-6


@xyntra.kernel
def norm(x: Any, scale: Any, bias: Any) -> Any:
    centred = x - xl.mean(x, axis=-1, keepdims=True)
    spread = xl.var(x, axis=-1, keepdims=True) + xl.std(x, axis=0)
    return centred / xl.sqrt(spread + 1e-5) * scale + bias**2 + xl.logsumexp(x, axis=1)[:, None]


@xyntra.kernel
def attention(q: Any, k: Any, v: Any) -> Any:
    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return 2 * xl.tanh(s / 2) - xl.astype(i - j, xl.float64) * xl.astype(h + b + 1, xl.float64)

    return xl.attention(q, k, v, score=score, mask=lambda b, h, i, j: i - j < 3, causal=True)


@xyntra.kernel
def moments(x: Any) -> Any:
    def merged(a: Any, b: Any) -> Any:
        (n1, mean1, m1), (n2, mean2, m2) = a, b
        n, distance = n1 + n2, mean2 - mean1
        return n, mean1 + distance * n2 / n, m1 + m2 + distance * distance * n1 * n2 / n

    given = xl.ones_like(x), x, xl.zeros_like(x)
    n, mean, m = xl.reduce(merged, given, axis=-1, commutative=True)
    return mean + m / n


@xyntra.kernel
def recurrence(a: Any, b: Any) -> Any:
    def after(left: Any, right: Any) -> Any:
        return left[0] * right[0], left[1] * right[0] + right[1]

    whole = xl.reduce(after, (a, b), axis=0)[1] + xl.reduce(after, (a, b), axis=0, ordered=True)[1]
    return xl.scan(after, (a, b), axis=0)[1] + whole + xl.scan(after, (a, b), 0, reverse=True)[1]


@xyntra.kernel
def picture(x: Any, w: Any, bias: Any) -> Any:
    y = xl.conv(x, w, bias, stride=2, padding=1)
    z = xl.conv(x, w[:2, :1], padding="same", groups=2)
    return xl.max_pool(y, 2, stride=1) + xl.avg_pool(z, 3, stride=3, padding=1)[:, :1]


@xyntra.kernel
def moved(x: Any, y: Any) -> Any:
    z = xl.concat([xl.roll(x, 2, axis=1), xl.flip(y, axis=0)], axis=0)
    z = xl.pad(z, [(1, 0), (0, 1)], 0.5) * xl.tile(xl.repeat(x[:, :1], 3, axis=0)[:7], (1, 7))
    windows = xl.windows(z, 3, step=2, axis=1)
    z[1:3, 2] = y[0, :2]
    return xl.sum(windows * windows, axis=-1) + z[:, :3] * xl.diagonal(z)[:, None][:1]


@xyntra.kernel
def places(x: Any, y: Any) -> Any:
    at = xl.asarray([2, 0, 9, 2])
    added = xl.scatter(x, at, xl.sin(y), axis=0, combine="add")
    added = xl.scatter(
        added, xl.index(y, 1)[:, :3] + 0 * xl.astype(y[:, :3] > 9, xl.int64), y[:, :3]
    )
    read = xl.take(x, xl.asarray([1, 1, -1]), axis=0) + x[xl.asarray([0, 1, 2])] * y[:3]
    largest, where = xl.top_k(x, 2, axis=-1)
    ordered = xl.sort(x, axis=0)
    return (
        added[:3] * read + ordered + xl.sum(largest) + xl.take_along_axis(x, where, axis=1)[:, :1]
    )


@xyntra.kernel
def products(x: Any, y: Any, z: Any) -> Any:
    found = xl.einsum("...ij,jk,lk->...il", x, y, z) * xl.prod(z, axis=1)
    total = xl.cumulative_sum(x @ y, axis=1) + xl.cumulative_prod(x, axis=1)[..., :5]
    return found + xl.softmax(total, axis=-1)[..., :3] * xl.vecdot(x, x)[..., None]


@xyntra.kernel
def elements(x: Any, y: Any) -> Any:
    z = xl.where(x > 0, xl.atan2(x, y), xl.hypot(x, y)) + xl.clip(x, -0.5, 0.7) + x**3 - y**-2.0
    return (
        z + xl.gelu(x) * xl.silu(y) + xl.erf(x) + xl.maximum(x, y) + xl.logaddexp(x, y) / 3 + abs(x)
    )


CASES: dict[str, tuple[Any, Sequence[tuple[int, ...]]]] = {
    "norm": (norm, [(4, 6), (6,), (6,)]),
    "attention": (attention, [(2, 4, 5, 3), (2, 2, 5, 3), (2, 2, 5, 4)]),
    "moments": (moments, [(3, 7)]),
    "recurrence": (recurrence, [(7, 3), (7, 3)]),
    "picture": (picture, [(2, 2, 7, 7), (3, 2, 3, 3), (3,)]),
    "moved": (moved, [(3, 6), (3, 6)]),
    "places": (places, [(3, 4), (4, 4)]),
    "products": (products, [(2, 4, 6), (6, 5), (3, 5)]),
    "elements": (elements, [(3, 5), (5,)]),
}


def test_gradients_are_differences_of_values() -> None:
    found: dict[str, xa.Array] = {}
    for name, (kernel, shapes) in CASES.items():
        given = [xa.asarray(RANDOM.uniform(0.2, 1.5, shape)) for shape in shapes]
        along = [xa.asarray(RANDOM.standard_normal(shape)) for shape in shapes]

        def loss(given: list[xa.Array], kernel: Any = kernel) -> xa.Array:
            y = kernel(*given)
            weights = np.cos(np.arange(y.size)).reshape(y.shape)
            return xa.sum(y * xa.asarray(weights))

        slopes = xa.grad(loss)(given)
        found[name] = sum(xa.sum(a * b) for a, b in zip(slopes, along, strict=True))  # type: ignore[assignment]
        ends = [loss([x + s * d for x, d in zip(given, along, strict=True)]) for s in (STEP, -STEP)]
        found[f"{name} expected"] = (ends[0] - ends[1]) / (2 * STEP)
    xa.compute(*found.values())
    for name in CASES:
        assert float(found[name]) == pytest.approx(float(found[f"{name} expected"]), rel=1e-5), name


def test_a_kernel_has_the_same_value_where_it_is_differentiated() -> None:
    x, y = (xa.asarray(RANDOM.uniform(0.2, 1.5, shape)) for shape in ((3, 4), (4, 4)))
    value, _ = xa.value_and_grad(lambda x, y: xa.sum(places(x, y)))(x, y)
    assert float(value) == pytest.approx(float(xa.sum(places(x, y))))


def test_an_operator_without_a_gradient_is_named() -> None:
    @xyntra.kernel
    def largest_written(x: Any) -> Any:
        return xl.scatter(x, xl.asarray([0, 0]), x[:2], axis=0, combine="max")

    with pytest.raises(UnsupportedError, match="scatter_reduce"):
        xa.grad(lambda x: xa.sum(largest_written(x)))(xa.ones((3,)))
