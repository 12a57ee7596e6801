# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares the functions of kernels with numpy in float64."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.lang as xl

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(5)


def normal(*shape: int) -> Array:
    """Return random numbers, as float32 can hold them."""
    return RANDOM.normal(size=shape).astype(np.float32).astype(np.float64)


@pytest.fixture
def check(settings: dict[str, object]) -> Callable[..., None]:
    """Return a function that compares what a kernel returns for float32 with float64."""

    def compare(
        function: Callable[..., Any],
        arguments: Sequence[Any],
        expected: Sequence[Any],
        tolerance: float = 2e-5,
    ) -> None:
        given = [
            each.astype(np.float32) if getattr(each, "dtype", None) == np.float64 else each
            for each in arguments
        ]
        found = xyntra.kernel(config=settings)(function)(*given)
        assert len(found) == len(expected)
        for number, (result, wanted) in enumerate(zip(found, expected, strict=True)):
            wide = np.asarray(wanted).astype(np.float64)
            assert result.shape == wide.shape, number
            np.testing.assert_allclose(
                result.astype(np.float64),
                wide,
                rtol=tolerance,
                atol=tolerance,
                err_msg=f"result {number}",
            )

    return compare


def test_functions_of_elements(check: Callable[..., None]) -> None:
    x, y = normal(5, 7), normal(7)
    x[0, :4] = [np.nan, np.inf, -np.inf, -0.0]

    def function(x: Any, y: Any) -> Any:
        return (
            x + y, x - y, x * y, x / y, x // y, x % y, 2 / x, 1 - x, -x, abs(x), x**2, x**3,
            xl.maximum(x, y), xl.minimum(x, y), xl.atan2(x, y), xl.hypot(x, y), xl.copysign(x, y),
            x < y, x <= y, x > y, x >= y, x == y, x != y, (x > 0) & ~(y > 0), (x > 0) ^ (y > 0),
            xl.exp(x), xl.sin(y), xl.cos(y), xl.tanh(x), xl.log1p(abs(x)), abs(x) ** 0.5,
            xl.expm1(y), abs(y) ** y, xl.sign(x), xl.where(x > 0, x, y), xl.where(x > 0, 1.0, -1.0),
            xl.floor(x), xl.clip(x, -0.5, 0.5), xl.logaddexp(x, y), xl.round(x), xl.signbit(x),
            xl.isfinite(x),
            xl.isnan(x), xl.isinf(x), xl.square(x), xl.sigmoid(y), xl.relu(x), xl.trunc(x),
            xl.ceil(x),
        )  # fmt: skip

    with np.errstate(all="ignore"):
        expected = (
            x + y, x - y, x * y, x / y, x // y, x % y, 2 / x, 1 - x, -x, abs(x), x**2, x**3,
            np.maximum(x, y), np.minimum(x, y), np.arctan2(x, y), np.hypot(x, y),
            np.copysign(x, y), x < y, x <= y, x > y, x >= y, x == y, x != y, (x > 0) & ~(y > 0),
            (x > 0) ^ (y > 0), np.exp(x), np.sin(y), np.cos(y), np.tanh(x), np.log1p(abs(x)),
            abs(x) ** 0.5, np.expm1(y), abs(y) ** y, np.sign(x), np.where(x > 0, x, y),
            np.where(x > 0, 1.0, -1.0), np.floor(x), np.clip(x, -0.5, 0.5), np.logaddexp(x, y),
            np.round(x), np.signbit(x), np.isfinite(x), np.isnan(x), np.isinf(x), np.square(x),
            1 / (1 + np.exp(-y)), np.maximum(x, 0), np.trunc(x), np.ceil(x),
        )  # fmt: skip
    check(function, (x, y), expected)


def test_functions_of_integers(check: Callable[..., None]) -> None:
    n = np.array([[7, -7, 0, 100], [-128, 127, 5, -3]], np.int8)
    m = np.array([3, -2, 5, 127], np.int32)
    u = np.array([1, 200, 255, 7], np.uint8)

    def function(n: Any, m: Any, u: Any) -> Any:
        return (
            n + m, n * m, n // m, n % m, n & m, n | m, n ^ m, ~n, u << 1, u >> 2, n >> 1, m << 33,
            xl.astype(n, xl.float32) / 2, n**2, xl.sum(n), xl.sum(u, axis=0), xl.max(n, axis=0),
            xl.argmax(n, axis=1), xl.cumulative_sum(m), u + 1, u == 255,
        )  # fmt: skip

    wide = n.astype(np.int32)
    expected = (
        wide + m, wide * m, wide // m, wide % m, wide & m, wide | m, wide ^ m, ~n, u << 1, u >> 2,
        n >> 1, 0 * m, n / 2, n**2, n.sum(), u.sum(), n.max(0), n.argmax(1), m.cumsum(),
        u + np.uint8(1), u == 255,
    )  # fmt: skip
    check(function, (n, m, u), expected)


def test_reductions(check: Callable[..., None]) -> None:
    x = normal(5, 7)

    def function(x: Any) -> Any:
        return (
            xl.sum(x), xl.sum(x, axis=0), xl.sum(x, axis=(0, -1), keepdims=True), xl.max(x, axis=1),
            xl.min(x), xl.mean(x, axis=-1), xl.var(x, axis=0), xl.std(x, axis=1, correction=1),
            xl.prod(x, axis=0), xl.argmax(x, axis=1), xl.argmin(x), xl.any(x > 1, axis=0),
            xl.all(x > -9), xl.logsumexp(x, axis=1), xl.softmax(x, axis=0), xl.log_softmax(x),
            xl.cumulative_sum(x, axis=1), xl.cumulative_prod(x, axis=0), xl.sort(x, axis=1),
            xl.argsort(x, axis=0), *xl.top_k(x, 3), xl.count_nonzero(x > 0), x.sum(axis=1),
        )  # fmt: skip

    softmax = np.exp(x) / np.exp(x).sum(0)
    expected = (
        x.sum(), x.sum(0), x.sum(keepdims=True), x.max(1), x.min(), x.mean(-1), x.var(0),
        x.std(1, ddof=1), x.prod(0), x.argmax(1), x.argmin(), (x > 1).any(0), (x > -9).all(),
        np.log(np.exp(x).sum(1)), softmax, x - np.log(np.exp(x).sum(1, keepdims=True)), x.cumsum(1),
        x.cumprod(0), np.sort(x, 1), np.argsort(x, 0), -np.sort(-x, 1)[:, :3],
        np.argsort(-x, 1)[:, :3], (x > 0).sum(), x.sum(1),
    )  # fmt: skip
    check(function, (x,), expected)


def test_shapes_and_parts(check: Callable[..., None]) -> None:
    x, y = normal(5, 7), normal(7)

    def function(x: Any, y: Any) -> Any:
        z = xl.zeros((5, 7))
        z[1:3, 2:5] = x[1:3, 2:5]
        z[4] = y
        z[0, 0] = 9.0
        z[:, 6] += 1
        return (
            x.T, x.reshape(7, -1), x[1], x[1:4, ::2], x[::-1, -1], x[..., None], x[:, None, :],
            xl.concat([x, x], axis=1), xl.stack([y, y], axis=1), xl.flip(x, axis=1),
            xl.roll(x, 2, axis=1), xl.pad(x, ((1, 2), (0, 3)), value=7), xl.repeat(x, 2, axis=0),
            xl.tile(x, (2, 1)), xl.diagonal(x), xl.diagonal(x, offset=-2), xl.diagonal(x, offset=3),
            xl.windows(x, 3), z, xl.tril(x), xl.triu(x, k=1), xl.eye(3, 4, k=1), xl.arange(2, 9, 2),
            xl.index(x, 1) + xl.index(x, 0) * 10, xl.broadcast_to(y, (2, 7)), x[4:1],
        )  # fmt: skip

    z = np.zeros((5, 7))
    z[1:3, 2:5], z[4], z[0, 0] = x[1:3, 2:5], y, 9
    z[:, 6] += 1
    expected = (
        x.T, x.reshape(7, 5), x[1], x[1:4, ::2], x[::-1, -1], x[..., None], x[:, None, :],
        np.concatenate([x, x], 1), np.stack([y, y], 1), np.flip(x, 1), np.roll(x, 2, 1),
        np.pad(x, ((1, 2), (0, 3)), constant_values=7), np.repeat(x, 2, 0), np.tile(x, (2, 1)),
        np.diagonal(x), np.diagonal(x, -2), np.diagonal(x, 3),
        np.lib.stride_tricks.sliding_window_view(x, 3, 1), z, np.tril(x), np.triu(x, 1),
        np.eye(3, 4, 1), np.arange(2, 9, 2), np.arange(7) + 10 * np.arange(5)[:, None],
        np.broadcast_to(y, (2, 7)), x[4:1],
    )  # fmt: skip
    check(function, (x, y), expected)


def test_gather_and_scatter(check: Callable[..., None]) -> None:
    x, u, v = normal(5, 7), normal(4, 7), normal(5, 3)
    i, j = np.array([4, 0, 0, 2], np.int32), RANDOM.integers(0, 7, (5, 3))

    def function(x: Any, i: Any, j: Any, u: Any, v: Any) -> Any:
        return (
            x[i], xl.take(x, i, axis=0), xl.take_along_axis(x, j, axis=1), x[i, 2], x[i, i],
            xl.scatter(x, i, u, combine="add"), xl.scatter(x, i, u, combine="max"),
            xl.scatter(x, j, v, axis=1, combine="add"), xl.scatter(x, i, u),
            xl.put(x, (slice(None), slice(0, 7, 3)), 0.0), xl.put(x, x > 0, 1.5),
            xl.put(x, (i, i), 2.0),
        )  # fmt: skip

    added, largest, apart = x.copy(), x.copy(), x.copy()
    np.add.at(added, i, u)
    np.maximum.at(largest, i, u)
    np.add.at(apart, (np.arange(5)[:, None], j), v)
    last, striped, masked, places = x.copy(), x.copy(), x.copy(), x.copy()
    last[i], striped[:, 0:7:3], masked[masked > 0], places[i, i] = u, 0, 1.5, 2
    expected = (
        x[i], x[i], np.take_along_axis(x, j, 1), x[i, 2], x[i, i], added, largest, apart, last,
        striped, masked, places,
    )  # fmt: skip
    check(function, (x, i, j, u, v), expected)


def test_products(check: Callable[..., None]) -> None:
    a, b, x, y = normal(2, 3, 4, 5), normal(3, 5, 6), normal(5, 7), normal(7)

    def function(a: Any, b: Any, x: Any, y: Any) -> Any:
        return (
            a @ b, xl.einsum("bhij,hjk->bik", a, b), x @ y, x.T @ x, xl.einsum("ij->ji", x),
            xl.einsum("...ij,...jk", a, b), xl.vecdot(x, y), xl.outer(y, y),
            xl.einsum("ij,ij,j->i", x, x, y),
        )  # fmt: skip

    expected = (
        a @ b, np.einsum("bhij,hjk->bik", a, b), x @ y, x.T @ x, x.T, a @ b, x @ y, np.outer(y, y),
        np.einsum("ij,ij,j->i", x, x, y),
    )  # fmt: skip
    check(function, (a, b, x, y), expected)


def test_functions_of_the_user_that_combine_elements(check: Callable[..., None]) -> None:
    x = normal(5, 7)

    def merged(a: Any, b: Any) -> Any:
        (n1, mean1, m1), (n2, mean2, m2) = a, b
        n, distance = n1 + n2, mean2 - mean1
        return n, mean1 + distance * n2 / n, m1 + m2 + distance * distance * n1 * n2 / n

    def function(x: Any) -> Any:
        n, mean, m = xl.reduce(merged, (xl.ones_like(x), x, xl.zeros_like(x)), axis=1)
        return (
            mean,
            m / n,
            xl.reduce(lambda a, b: a + b - a * b, x, axis=0),
            xl.reduce(lambda a, b: b, x, axis=1),
            xl.reduce(lambda a, b: xl.where(a > b, a, b), x, axis=1, ordered=True, keepdims=True),
            xl.scan(xl.maximum, x, axis=1),
            xl.scan(lambda a, b: (a[0] * b[0], b[0] * a[1] + b[1]), (x, x), axis=1)[1],
            xl.scan(lambda a, b: a + b, x[0], reverse=True),
        )

    probability, recurrence = x[0], x.copy()
    for row in x[1:]:
        probability = probability + row - probability * row
    for k in range(1, 7):
        recurrence[:, k] = x[:, k] * recurrence[:, k - 1] + x[:, k]
    expected = (
        x.mean(1), x.var(1), probability, x[:, -1], x.max(1, keepdims=True),
        np.maximum.accumulate(x, 1), recurrence, x[0, ::-1].cumsum()[::-1],
    )  # fmt: skip
    check(function, (x,), expected)


def test_long_reductions_that_commute_are_combined_side_by_side(check: Callable[..., None]) -> None:
    x, y = normal(3, 150), normal(128, 5)

    def merged(a: Any, b: Any) -> Any:
        (n1, mean1, m1), (n2, mean2, m2) = a, b
        n, distance = n1 + n2, mean2 - mean1
        return n, mean1 + distance * n2 / n, m1 + m2 + distance * distance * n1 * n2 / n

    def function(x: Any, y: Any) -> Any:
        given = xl.ones_like(x), x, xl.zeros_like(x)
        n, mean, m = xl.reduce(merged, given, axis=1, commutative=True)
        norm = xl.reduce(xl.hypot, y, axis=0, commutative=True, keepdims=True)
        return n, mean, m / n, norm

    norm = np.sqrt((y * y).sum(0, keepdims=True))
    check(function, (x, y), (np.full(3, 150), x.mean(1), x.var(1), norm))


def test_partial_results_of_16_bit_floats_are_wide(settings: dict[str, object]) -> None:
    def merged(a: Any, b: Any) -> Any:
        (n1, mean1), (n2, mean2) = a, b
        return n1 + n2, mean1 + (mean2 - mean1) * n2 / (n1 + n2)

    @xyntra.kernel(config=settings)
    def function(x: Any) -> Any:
        pairs = xl.ones_like(x), x
        return (
            *xl.reduce(merged, pairs, axis=1),
            *xl.reduce(merged, pairs, axis=1, commutative=True),
            xl.scan(lambda a, b: a + b, x, axis=1)[:, -1],
            xl.reduce(lambda a, b: xl.astype(a + b, xl.float16), x, axis=1),
        )

    x = (np.abs(RANDOM.normal(size=(3, 4101))) + 0.5).astype(np.float16)
    wide = x.astype(np.float64)
    n1, mean1, n2, mean2, total, narrow = (each.astype(np.float64) for each in function(x))
    for count, mean in ((n1, mean1), (n2, mean2)):
        np.testing.assert_array_equal(count, np.float16(4101))
        np.testing.assert_allclose(mean, wide.mean(1), rtol=1e-3)
    np.testing.assert_allclose(total, wide.sum(1), rtol=1e-3)
    assert (narrow < 0.9 * wide.sum(1)).all()  # in float16, as the function says


def test_attention_with_functions_of_the_user(check: Callable[..., None]) -> None:
    q, k, v = normal(2, 4, 9, 8), normal(2, 2, 11, 8), normal(2, 2, 11, 6)

    def function(q: Any, k: Any, v: Any) -> Any:
        def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
            slope = xl.exp2(-2.0 * xl.astype(h + 1, xl.float32))
            return s + slope * xl.astype(j - i, xl.float32)

        near = xl.attention(q, k, v, score=score, mask=lambda b, h, i, j: (j - i < 4) & (i - j < 6))
        return xl.attention(q, k, v), xl.attention(q, k, v, causal=True, scale=0.5), near

    i, j, h = np.arange(9)[:, None], np.arange(11), np.arange(4)[:, None, None]
    scores = q @ np.repeat(k, 2, 1).transpose(0, 1, 3, 2)

    def mixed(logits: Array) -> Array:
        weights = np.exp(logits - logits.max(-1, keepdims=True))
        return weights / weights.sum(-1, keepdims=True) @ np.repeat(v, 2, 1)

    biased = scores / math.sqrt(8) + 2.0 ** (-2 * (h + 1)) * (j - i)
    expected = (
        mixed(scores / math.sqrt(8)),
        mixed(np.where(j <= i, scores * 0.5, -np.inf)),
        mixed(np.where((j - i < 4) & (i - j < 6), biased, -np.inf)),
    )
    check(function, (q, k, v), expected)


def test_convolutions(check: Callable[..., None]) -> None:
    x, w, d = normal(2, 6, 9, 10), normal(4, 6, 3, 3), normal(6, 1, 3, 3)

    def function(x: Any, w: Any, d: Any) -> Any:
        return (
            xl.conv(x, w, padding=1, stride=2),
            xl.conv(x, d, padding="same", groups=6),
            xl.max_pool(x, 2),
            xl.avg_pool(x, 3, stride=1),
        )

    padded = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
    view = np.lib.stride_tricks.sliding_window_view
    windows = view(padded, (3, 3), (2, 3))
    expected = (
        np.einsum("nchwij,mcij->nmhw", windows[:, :, ::2, ::2], w),
        np.einsum("nchwij,cij->nchw", windows, d[:, 0]),
        x[:, :, :8].reshape(2, 6, 4, 2, 5, 2).max((3, 5)),
        view(x, (3, 3), (2, 3)).mean((-1, -2)),
    )
    check(function, (x, w, d), expected)
