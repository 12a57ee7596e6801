# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests functions of arrays against numpy, many by one executable."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from verify.arrays.check import check_values
from verify.arrays.expressions import draw

RANDOM = np.random.default_rng(7)
FLOATS = np.array([0.0, -0.0, 1.5, -2.5, np.inf, -np.inf, np.nan, 3.0], np.float32)
UNARY = [
    ("acosh", "arccosh"), ("asin", "arcsin"), ("atan", "arctan"), ("ceil", "ceil"),
    ("cosh", "cosh"),
    ("exp", "exp"), ("expm1", "expm1"), ("floor", "floor"), ("isfinite", "isfinite"),
    ("isinf", "isinf"), ("isnan", "isnan"), ("log", "log"), ("log10", "log10"), ("log1p", "log1p"),
    ("log2", "log2"), ("negative", "negative"), ("reciprocal", "reciprocal"), ("round", "round"),
    ("sign", "sign"), ("signbit", "signbit"), ("sin", "sin"), ("sqrt", "sqrt"),
    ("square", "square"),
    ("tan", "tan"), ("tanh", "tanh"), ("trunc", "trunc"), ("abs", "abs"),
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "hypot", "copysign", "nextafter",
    "logaddexp", "equal", "not_equal", "less", "greater_equal", "fmod",
]  # fmt: skip
INTEGERS = [
    "add", "multiply", "floor_divide", "remainder", "bitwise_and", "bitwise_xor", "pow", "maximum",
]  # fmt: skip


def compare(pairs: list[tuple[Any, Any]]) -> None:
    """Compute all first arrays by one executable, and compare each with the second."""
    xa.compute(*(found for found, _ in pairs))
    for found, expected in pairs:
        own = found.numpy()
        assert own.shape == np.shape(expected)
        np.testing.assert_allclose(own, expected, rtol=2e-6, atol=1e-6)


def test_functions_of_floats_follow_numpy() -> None:
    with np.errstate(all="ignore"):
        x = xa.asarray(FLOATS)
        pairs = [(getattr(xa, own)(x), getattr(np, name)(FLOATS)) for own, name in UNARY]
        a, b = FLOATS[:, None], FLOATS[None, :]
        one, two = xa.asarray(a), xa.asarray(b)
        pairs += [(getattr(xa, name)(one, two), getattr(np, name)(a, b)) for name in BINARY]
        compare(pairs)


def test_functions_of_integers_are_exact() -> None:
    pairs = []
    for dtype in (np.int8, np.uint8, np.int32, np.int64):
        a = RANDOM.integers(0, 100, (3, 5)).astype(dtype)
        b = RANDOM.integers(1, 9, (5,)).astype(dtype)
        for name in INTEGERS:
            pairs.append((getattr(xa, name)(xa.asarray(a), xa.asarray(b)), getattr(np, name)(a, b)))
    xa.compute(*(found for found, _ in pairs))
    for found, expected in pairs:
        assert found.numpy().dtype == expected.dtype
        np.testing.assert_array_equal(found.numpy(), expected)


def test_reductions_scans_and_order_follow_numpy() -> None:
    x = RANDOM.standard_normal((3, 4, 5)).astype(np.float32)
    a = xa.asarray(x)
    bits = RANDOM.integers(0, 2, (4, 6)).astype(np.bool_)
    flags = xa.asarray(bits)
    compare(
        [
            (a.sum(), x.sum()),
            (a.mean(axis=(0, 2)), x.mean(axis=(0, 2))),
            (xa.max(a, axis=1, keepdims=True), x.max(axis=1, keepdims=True)),
            (a.min(), x.min()),
            (xa.prod(a, axis=-1), x.prod(axis=-1)),
            (xa.var(a, axis=0, correction=1), x.var(axis=0, ddof=1)),
            (xa.std(a), x.std()),
            (xa.argmax(a, axis=2), x.argmax(axis=2)),
            (xa.argmin(a), x.argmin()),
            (xa.cumulative_sum(a, axis=1), x.cumsum(axis=1)),
            (xa.cumulative_prod(a, axis=0), x.cumprod(axis=0)),
            (xa.diff(a, axis=1), np.diff(x, axis=1)),
            (xa.sort(a, axis=0), np.sort(x, axis=0)),
            (xa.argsort(a, axis=-1, descending=True), np.argsort(-x, axis=-1)),
            (xa.any(flags, axis=0), bits.any(axis=0)),
            (xa.all(flags), bits.all()),
            (xa.count_nonzero(flags, axis=1), np.count_nonzero(bits, axis=1)),
            (xa.sum(xa.asarray(bits.astype(np.int8))), bits.sum()),
            (xa.searchsorted(xa.asarray([1.0, 2.0, 3.0]), a), np.searchsorted([1.0, 2.0, 3.0], x)),
        ]
    )


def test_products_follow_numpy() -> None:
    x = RANDOM.standard_normal((2, 3, 4)).astype(np.float32)
    y = RANDOM.standard_normal((4, 5)).astype(np.float32)
    a, b = xa.asarray(x), xa.asarray(y)
    compare(
        [
            (a @ b, x @ y),
            (xa.matmul(a[0, 0], b), x[0, 0] @ y),
            (xa.tensordot(a, b, axes=1), np.tensordot(x, y, axes=1)),
            (xa.tensordot(a, b, axes=((2,), (0,))), np.tensordot(x, y, axes=((2,), (0,)))),
            (xa.vecdot(a, a), np.vecdot(x, x)),
            (xa.einsum("bmk,kn->nbm", a, b), np.einsum("bmk,kn->nbm", x, y)),
            (xa.outer(a[0, 0], b[0]), np.outer(x[0, 0], y[0])),
        ]
    )


def test_what_moves_elements_follows_numpy() -> None:
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    a = xa.asarray(x)
    compare(
        [
            (xa.concat([a, a], axis=1), np.concat([x, x], axis=1)),
            (xa.concat([a, a], axis=None), np.concat([x, x], axis=None)),
            (xa.stack([a, a], axis=-1), np.stack([x, x], axis=-1)),
            (xa.moveaxis(a, 0, -1), np.moveaxis(x, 0, -1)),
            (xa.roll(a, (1, -2), axis=(0, 2)), np.roll(x, (1, -2), axis=(0, 2))),
            (xa.repeat(a, 2, axis=1), np.repeat(x, 2, axis=1)),
            (xa.tile(a, (2, 1, 2)), np.tile(x, (2, 1, 2))),
            (
                xa.pad(a, [(1, 0), (0, 2), (1, 1)], 7),
                np.pad(x, [(1, 0), (0, 2), (1, 1)], constant_values=7),
            ),
            (xa.tril(a, k=1), np.tril(x, k=1)),
            (xa.triu(a), np.triu(x)),
            (xa.broadcast_to(a[:, :1], (2, 3, 4)), np.broadcast_to(x[:, :1], (2, 3, 4))),
            (xa.flip(a, axis=(0, 2)), np.flip(x, axis=(0, 2))),
            (xa.arange(3.0, -1.0, -0.5), np.arange(3.0, -1.0, -0.5)),
            (xa.linspace(0, 1, 7), np.linspace(0, 1, 7)),
            (xa.eye(3, 5, k=-1), np.eye(3, 5, k=-1)),
            (
                xa.take_along_axis(a, xa.argmax(a, axis=1, keepdims=True), axis=1),
                x.max(1, keepdims=True),
            ),
        ]
    )


def test_random_expressions_agree_with_numpy() -> None:
    assert check_values([draw(seed) for seed in (61, 223, 533, *range(10_000, 10_009))]) == []


def test_types_meet_by_the_standards_table() -> None:
    assert xa.result_type(xa.int8, xa.uint8) is xa.int16
    assert xa.result_type(xa.float16, xa.bfloat16) is xa.float32
    assert (xa.ones(2, dtype=xa.int32) + 1).dtype is xa.int32
    assert (xa.ones(2, dtype=xa.float16) * 2.5).dtype is xa.float16
    assert (xa.ones(2, dtype=xa.int32) / 2).dtype is xa.float32
    assert xa.ones(2).dtype is xa.float32
    assert xa.asarray([1, 2]).dtype is xa.int64
    assert xa.asarray(np.float64(2)).dtype is xa.float64


def test_sets_and_places_are_those_of_the_values() -> None:
    x = xa.asarray([3, 1, 3, 2])
    values, counts = xa.unique_counts(x)
    assert values.tolist() == [1, 2, 3]
    assert counts.tolist() == [1, 1, 2]
    assert xa.nonzero(x > 1)[0].tolist() == [0, 2, 3]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floats_are_rounded_once(dtype: str) -> None:
    kind = getattr(xa, dtype)
    x = RANDOM.standard_normal((4, 33))
    own = xa.asarray(x).astype(kind)
    found = xa.softmax(own * 2.0, axis=1)
    assert found.dtype is kind
    wide = own.astype(xa.float64).numpy() * 2
    powers = np.exp(wide - wide.max(1, keepdims=True))
    step = {"float16": 1e-3, "bfloat16": 8e-3, "float64": 1e-12}[dtype]
    np.testing.assert_allclose(
        found.astype(xa.float64).numpy(),
        powers / powers.sum(1, keepdims=True),
        rtol=4 * step,
        atol=step,
    )
