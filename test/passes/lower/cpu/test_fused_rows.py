# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of several row operations: gathers, statistics, and shapes that differ by reshapes."""

from __future__ import annotations

import numpy as np
import pytest

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar

from .fused_kernels import fused_kernel

RNG = np.random.default_rng(31)
F = "float32"


def normal(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float32)


def close(result: np.ndarray, expected: np.ndarray) -> None:
    np.testing.assert_allclose(result, expected, rtol=2e-5, atol=2e-5)


def arguments(*arrays: np.ndarray) -> list:
    return [(each.shape, each.dtype.name) for each in arrays]


def add(b, x, y):
    return b.map(lambda p, q: p + q, x, y, dtype=F)


def gather(b, table, rows):
    """Row `rows[i]` of `table` for every i, as a tensor of rank 3."""
    shape = (1, *rows.shape, table.shape[1])
    with b.location:
        read = ir.AffineMap.get(3, 0, [ir.AffineDimExpr.get(1)])

    def body(row, _):
        position = ir.Operation.create(
            "arith.index_cast", results=[ir.IndexType.get()], operands=[row.value]
        )
        return b.extract(table, [Scalar(position.result, "index"), b.index(2)])

    output = (b.empty(shape, F), F, b.identity(3))
    return b.generic([(rows, read)], [output], ["parallel"] * 3, body)[0]


def norm(b, x, scale):
    """Layer norm without its named op."""
    axes, count = [x.rank - 1], x.shape[-1]
    mean = b.map(lambda p: p * (1 / count), b.reduce(x, axes, "sum"), dtype=F)
    centred = b.map(lambda p, q: p - q, x, mean, dtype=F)
    squares = b.map(lambda p: p * p, centred, dtype=F)
    variance = b.map(lambda p: p * (1 / count) + 1e-5, b.reduce(squares, axes, "sum"), dtype=F)
    return b.map(lambda p, v, s: p / v.math("sqrt") * s, centred, variance, scale, dtype=F)


def exact_norm(x: np.ndarray, scale: np.ndarray) -> np.ndarray:
    x = x.astype(np.float64)
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-5) * scale


@pytest.mark.parametrize("width", [1, 5, 16, 65])
@pytest.mark.parametrize("rows", [1, 9])
def test_gathers_and_a_norm(compiled, rows, width):
    words, places, scale = normal(20, width), normal(rows, width), normal(width)
    chosen = RNG.integers(0, 20, rows)

    def build(b, table, other, ids, s):
        return norm(b, add(b, gather(b, table, ids), other), s)

    arrays = [words, places, chosen, scale]
    kernel = compiled(fused_kernel(arguments(*arrays), build))
    close(kernel(*arrays)[0], exact_norm((words[chosen] + places)[None], scale))


def test_gathered_rows_wait_for_no_others(compiled):
    words, chosen, scale = normal(20, 64), RNG.integers(0, 20, 100), normal(64)
    text = fused_kernel(
        arguments(words, chosen, scale), lambda b, t, ids, s: norm(b, gather(b, t, ids), s)
    )
    kernel = compiled(text)
    close(kernel(words, chosen, scale)[0], exact_norm(words[chosen][None], scale))
    assert kernel.lowered.scratch_bytes < 100 * 64 * 4


def test_a_gather_from_rows_of_the_same_kernel(compiled):
    """Any row may be needed first, so all are computed before."""
    x, chosen = normal(40, 32), RNG.integers(0, 40, 40)

    def build(b, x, ids):
        doubled = b.map(lambda p: p * 2.0, x, dtype=F)
        return add(b, gather(b, doubled, ids), doubled)

    (result,) = compiled(fused_kernel(arguments(x, chosen), build))(x, chosen)
    np.testing.assert_array_equal(result, (2 * x[chosen] + 2 * x)[None])


@pytest.mark.parametrize("shape", [(1, 6, 40), (2, 3, 40), (3, 1, 2, 40), (6, 40)])
def test_ranks_that_differ(compiled, shape):
    """The norm runs over a matrix, what is before and after over other shapes."""
    x, scale = normal(*shape), normal(40)

    def build(b, x, s):
        doubled = b.map(lambda p: p * 2.0, x, dtype=F)
        result = norm(b, b.reshape(doubled, (6, 40)), s)
        return b.reshape(b.map(lambda p: p + 1.0, result, dtype=F), (2, 3, 40))

    kernel = compiled(fused_kernel(arguments(x, scale), build))
    close(kernel(x, scale)[0], exact_norm(2 * x, scale).reshape(2, 3, 40) + 1)
    assert kernel.lowered.scratch_bytes <= 1024


def test_statistics_beside_what_they_are_for(compiled):
    x = normal(30, 50)

    def build(b, x):
        top = b.reduce(x, [1], "max", keepdims=False)
        total = b.reduce(x, [1], "sum")
        return top, b.map(lambda p, q: p - q, x, total, dtype=F), total

    top, shifted, total = compiled(fused_kernel(arguments(x), build))(x)
    exact = x.astype(np.float64).sum(1, keepdims=True)
    np.testing.assert_array_equal(top, x.max(1))
    close(total, exact)
    close(shifted, x - exact)


def test_nan_stays_in_its_row(compiled):
    x, scale = normal(8, 40), normal(40)
    x[3, 5] = np.nan
    (result,) = compiled(fused_kernel(arguments(x, scale), norm))(x, scale)
    assert np.isnan(result[3]).all()
    rest = np.arange(8) != 3
    close(result[rest], exact_norm(x[rest], scale))


@pytest.mark.parametrize("shape", [(0, 40), (8, 0)])
def test_no_elements(compiled, shape):
    x, scale = normal(*shape), normal(shape[1])

    def build(b, x, s):
        scaled = b.map(lambda p, q: p * q, x, s, dtype=F)
        return scaled, b.reduce(scaled, [1], "sum", keepdims=False)

    results = compiled(fused_kernel(arguments(x, scale), build))(x, scale)
    assert [each.shape for each in results] == [shape, shape[:1]]
    assert not results[1].any()


def test_concatenated_parts_are_computed_where_they_belong(compiled):
    x, y = normal(6, 20), normal(6, 12)

    def build(b, x, y):
        parts = [b.map(lambda p: p * 2.0, x, dtype=F), b.map(lambda p: p + 1.0, y, dtype=F)]
        kind = b.tensor_type((6, 32), F)
        dimension = ir.IntegerAttr.get(ir.IntegerType.get_signless(64, b.context), 1)
        op = b.emit("tensor.concat", [p.value for p in parts], [kind], {"dim": dimension})
        return type(x)(op.results[0], F)

    kernel = compiled(fused_kernel(arguments(x, y), build))
    np.testing.assert_array_equal(kernel(x, y)[0], np.concatenate([2 * x, y + 1], 1))
    assert kernel.lowered.scratch_bytes == 0


@pytest.mark.parametrize("to", [(24,), (2, 3, 4), (1, 24, 1)])
def test_a_reshaped_result_needs_no_copy(compiled, to):
    x = normal(4, 6)
    text = fused_kernel(
        arguments(x), lambda b, x: b.reshape(b.map(lambda p: p * 2.0, x, dtype=F), to)
    )
    kernel = compiled(text)
    np.testing.assert_array_equal(kernel(x)[0], (2 * x).reshape(to))
    assert kernel.lowered.scratch_bytes == 0
