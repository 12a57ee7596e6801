# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products and convolutions with what a kernel does to their results."""

from __future__ import annotations

from math import erf

import numpy as np
import pytest

from xyntra.dialects.mlir import ir

from .fused_kernels import fused_kernel

RNG = np.random.default_rng(29)
F = "float32"
SIZES = [(1, 5, 3), (2, 8, 8), (4, 24, 16), (7, 9, 4), (13, 31, 9), (16, 48, 33), (300, 20, 8)]


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def close(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def product(b, x, w):
    return b.einsum("mk,kn->mn", x, w)


def add(b, x, y):
    return b.map(lambda p, q: p + q, x, y, dtype=F)


def relu(b, x):
    return b.map(lambda p: p.maximum(0.0), x, dtype=F)


def gelu(b, x):
    half = b.map(lambda p: p * 0.5, x, dtype=F)
    other = b.map(lambda p: (p * 0.5**0.5).math("erf") + 1.0, x, dtype=F)
    return b.map(lambda p, q: p * q, half, other, dtype=F)


def matrices(m: int, n: int, k: int) -> tuple[list, list[np.ndarray], np.ndarray]:
    """Arguments for a product and a bias; arrays; the sum in float64."""
    arrays = [normal(m, k), normal(k, n), normal(n)]
    exact = arrays[0].astype(np.float64) @ arrays[1] + arrays[2]
    return [(each.shape, F) for each in arrays], arrays, exact


@pytest.mark.parametrize("size", SIZES)
def test_bias_and_activation(compiled, size):
    arguments, arrays, exact = matrices(*size)
    short = fused_kernel(arguments, lambda b, x, w, v: relu(b, add(b, product(b, x, w), v)))
    close(compiled(short)(*arrays)[0], np.maximum(exact, 0))
    long = fused_kernel(arguments, lambda b, x, w, v: gelu(b, add(b, product(b, x, w), v)))
    close(compiled(long)(*arrays)[0], exact * 0.5 * (1 + np.vectorize(erf)(exact * 0.5**0.5)))


def test_the_product_itself_is_never_stored(compiled):
    arguments, arrays, exact = matrices(64, 96, 32)
    text = fused_kernel(arguments, lambda b, x, w, v: relu(b, add(b, product(b, x, w), v)))
    kernel = compiled(text)
    close(kernel(*arrays)[0], np.maximum(exact, 0))
    assert kernel.lowered.scratch_bytes < 64 * 96 * 4


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("long", [False, True])
def test_a_residual_that_the_result_overwrites(compiled, size, long):
    arguments, arrays, exact = matrices(*size)
    residual = normal(*exact.shape)

    def build(b, x, w, v, r):
        total = add(b, add(b, product(b, x, w), v), r)
        return b.map(lambda p: p.math("tanh"), total, dtype=F) if long else total

    text = fused_kernel([*arguments, (residual.shape, F)], build, inplace=[(0, 3)])
    (result,) = compiled(text)(*arrays, residual)
    close(result, np.tanh(exact + residual) if long else exact + residual)


@pytest.mark.parametrize("size", [(6, 6, 6), (24, 24, 24), (37, 37, 37)])
def test_a_result_that_overwrites_a_factor(compiled, size):
    """Tiles must not be written while others still read the factor."""
    arguments, arrays, exact = matrices(*size)
    text = fused_kernel(
        arguments, lambda b, x, w, v: relu(b, add(b, product(b, x, w), v)), inplace=[(0, 0)]
    )
    close(compiled(text)(*arrays)[0], np.maximum(exact, 0))


@pytest.mark.parametrize("size", SIZES)
def test_several_results(compiled, size):
    arguments, arrays, exact = matrices(*size)

    def build(b, x, w, v):
        total = product(b, x, w)
        return total, add(b, total, v), relu(b, total)

    results = compiled(fused_kernel(arguments, build))(*arrays)
    raw = exact - arrays[2]
    for result, expected in zip(results, [raw, exact, np.maximum(raw, 0)], strict=True):
        close(result, expected)


@pytest.mark.parametrize("size", SIZES)
def test_a_result_in_another_order(compiled, size):
    arguments, arrays, exact = matrices(*size)

    def build(b, x, w, v):
        return b.transpose(add(b, product(b, x, w), v), [1, 0])

    close(compiled(fused_kernel(arguments, build))(*arrays)[0], exact.T)


@pytest.mark.parametrize("heads", [1, 3, 6])
@pytest.mark.parametrize("rows", [1, 7, 40])
def test_heads_split_off_the_columns(compiled, heads, rows):
    arguments, arrays, exact = matrices(rows, heads * 8, 10)

    def build(b, x, w, v):
        total = b.reshape(add(b, product(b, x, w), v), (rows, heads, 8))
        return b.transpose(b.map(lambda p: p * 2.0, total, dtype=F), [1, 0, 2])

    (result,) = compiled(fused_kernel(arguments, build))(*arrays)
    close(result, 2 * exact.reshape(rows, heads, 8).transpose(1, 0, 2))


@pytest.mark.parametrize("dtype", ["float16", "bool", "int32", "float64"])
def test_results_of_other_types(compiled, dtype):
    arguments, arrays, exact = matrices(13, 40, 9)

    def convert(p, q):
        return p + q > 0.0 if dtype == "bool" else ((p + q) * 8.0).cast(dtype)

    def build(b, x, w, v):
        return b.map(convert, product(b, x, w), v, dtype=dtype)

    (result,) = compiled(fused_kernel(arguments, build))(*arrays)
    expected = exact > 0 if dtype == "bool" else (8 * exact).astype(dtype)
    tolerance = {"float16": 1e-2, "int32": 1, "float64": 1e-4}.get(dtype, 0)
    wide = np.float64 if dtype != "bool" else np.int8
    np.testing.assert_allclose(
        result.astype(wide), expected.astype(wide), rtol=tolerance / 8, atol=tolerance
    )


def test_a_boolean_mask(compiled):
    arguments, arrays, exact = matrices(13, 40, 9)
    mask = RNG.random((13, 40)) > 0.5

    def build(b, x, w, v, m):
        chosen = b.map(lambda p, keep: keep.select(p, float("-inf")), product(b, x, w), m, dtype=F)
        return add(b, chosen, v)

    text = fused_kernel([*arguments, (mask.shape, "bool")], build)
    close(compiled(text)(*arrays, mask)[0], np.where(mask, exact, -np.inf))


def test_booleans_as_a_factor(compiled):
    """A sum over what a mask keeps."""
    values, mask = normal(16, 20), RNG.random((20, 40)) > 0.5

    def build(b, x, m):
        with b.location:
            d = [ir.AffineDimExpr.get(i) for i in range(3)]
            maps = [
                ir.AffineMap.get(3, 0, [d[i] for i in each]) for each in ((0, 2), (2, 1), (0, 1))
            ]
        return b.generic(
            [(x, maps[0]), (m, maps[1])],
            [(b.fill((16, 40), F, 0.0), F, maps[2])],
            ["parallel", "parallel", "reduction"],
            lambda p, keep, total: total + keep.select(p, 0.0),
        )[0]

    (result,) = compiled(fused_kernel([((16, 20), F), ((20, 40), "bool")], build))(values, mask)
    close(result, values.astype(np.float64) @ mask)


def test_a_transposed_residual(compiled):
    arguments, arrays, exact = matrices(19, 27, 9)
    residual = normal(27, 19)

    def build(b, x, w, v, r):
        return add(b, add(b, product(b, x, w), v), b.transpose(r, [1, 0]))

    text = fused_kernel([*arguments, (residual.shape, F)], build)
    close(compiled(text)(*arrays, residual)[0], exact + residual.T)


def test_a_sum_of_two_products(compiled):
    arguments, arrays, exact = matrices(19, 27, 9)
    other = [normal(19, 11), normal(11, 27)]

    def build(b, x, w, v, y, u):
        return relu(b, add(b, add(b, product(b, x, w), product(b, y, u)), v))

    text = fused_kernel([*arguments, *((each.shape, F) for each in other)], build)
    expected = np.maximum(exact + other[0].astype(np.float64) @ other[1], 0)
    close(compiled(text)(*arrays, *other)[0], expected)


def test_one_product_after_the_other(compiled):
    arguments, arrays, exact = matrices(19, 27, 9)
    second = normal(27, 14)

    def build(b, x, w, v, u):
        return relu(b, product(b, relu(b, add(b, product(b, x, w), v)), u))

    text = fused_kernel([*arguments, (second.shape, F)], build)
    close(compiled(text)(*arrays, second)[0], np.maximum(np.maximum(exact, 0) @ second, 0))


def test_nan_and_infinity(compiled):
    arguments, arrays, _ = matrices(13, 40, 9)
    arrays[0][3, 2], arrays[0][5, 1], arrays[2][7] = np.nan, np.inf, -np.inf
    text = fused_kernel(arguments, lambda b, x, w, v: relu(b, add(b, product(b, x, w), v)))
    with np.errstate(invalid="ignore"):
        expected = np.maximum(arrays[0].astype(np.float64) @ arrays[1] + arrays[2], 0)
    close(compiled(text)(*arrays)[0], expected)


@pytest.mark.parametrize("size", [(0, 4, 4), (4, 0, 4), (4, 8, 0)])
def test_no_elements(compiled, size):
    arguments, arrays, exact = matrices(*size)
    text = fused_kernel(arguments, lambda b, x, w, v: relu(b, add(b, product(b, x, w), v)))
    close(compiled(text)(*arrays)[0], np.maximum(exact, 0))
