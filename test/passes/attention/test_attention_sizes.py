# SPDX-License-Identifier: MIT OR Apache-2.0
"""Blocked attention of every head size and ragged length, against float64."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from attention_cases import Case, expected, heads_first, run

SIZES = [1, 2, 3, 4, 5, 7, 8, 9, 15, 16, 17, 31, 33, 64, 72, 80, 127, 128, 129, 130]
LENGTHS = [1, 2, 5, 6, 7, 16, 17, 31, 33, 48, 49, 97, 128, 129, 257, 300]
TOLERANCE = {"float32": 3e-6, "float16": 1e-3, "bfloat16": 8e-3}


def check(case: Case, seed: int) -> None:
    """Compare random operands with the definition."""
    arrays = case.random(seed)
    limit = TOLERANCE[case.dtype]
    result = run(case, arrays).astype("f8")
    np.testing.assert_allclose(result, expected(case, arrays), rtol=limit, atol=limit)


@pytest.mark.parametrize("size", SIZES)
def test_head_sizes(size: int) -> None:
    """Keys and values of different sizes, two heads."""
    other = SIZES[-1 - SIZES.index(size)]
    check(heads_first(1, 2, 19, 45, size, other, scale=size**-0.5), size)


@pytest.mark.parametrize("length", LENGTHS)
def test_lengths(length: int) -> None:
    """As many queries as keys, and another number of keys, causal and not."""
    other = LENGTHS[-1 - LENGTHS.index(length)]
    check(heads_first(1, 1, length, other, 16, 16), length)
    check(heads_first(1, 1, length, length, 8, 24, causal_offset=0), length)


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("seed", range(8))
def test_random_shapes(seed: int, dtype: str) -> None:
    """Heads that share keys, masks, biases and causality at random sizes."""
    source = np.random.default_rng(100 + seed)
    batch, groups, shared = (int(x) for x in source.integers(1, 4, 3))
    queries, keys = (int(x) for x in source.integers(1, 300, 2))
    depth, size = (int(x) for x in source.integers(1, 100, 2))
    heads = groups * shared
    case = Case(
        (batch, heads, queries, keys, depth, size),
        ((batch, queries, heads * depth), f"b, s, h * {depth} + d"),
        ((batch, groups, keys, depth), f"b, h floordiv {shared}, t, d"),
        ((batch, groups, keys, size), f"b, h floordiv {shared}, t, e"),
        ((batch, queries, heads * size), f"b, s, h * {size} + e"),
        keep=((batch, keys), "b, t") if seed % 3 == 0 else None,
        bias=((queries, keys), "s, t") if seed % 2 == 0 else None,
        causal_offset=keys - queries if seed % 4 == 1 else None,
        masked_rows="zero",
        scale=depth**-0.5,
        dtype=dtype,
    )
    check(case, seed)


@pytest.mark.parametrize("groups", [1, 2, 9])
def test_heads_that_share_keys(groups: int) -> None:
    """Few groups of heads, whose keys are packed before, and many, which pack their own."""
    heads = groups * 3
    case = heads_first(1, heads, 100, 40, 8, 8)
    shared = replace(
        case,
        key=((1, groups, 40, 8), "b, h floordiv 3, t, d"),
        value=((1, groups, 40, 8), "b, h floordiv 3, t, e"),
    )
    check(shared, groups)


@pytest.mark.parametrize("keys", [20, 700])
def test_a_rising_maximum_rescales_what_was_summed_up(keys: int) -> None:
    """Each chunk of keys has larger scores than the one before, in steps small and large."""
    for step in (0.01, 0.2, 5.0):
        case = heads_first(1, 1, 13, keys, 4, 4, scale=1.0)
        arrays = case.random(3)
        arrays[0][..., 0] = 1.0
        arrays[1][..., 0] = np.arange(keys) * step
        limit = 1e-5 * max(1.0, keys * step / 100)
        np.testing.assert_allclose(
            run(case, arrays), expected(case, arrays), rtol=limit, atol=limit
        )


@pytest.mark.parametrize("bias", [-3.4e38, -2.5e38, 3.4e38])
@pytest.mark.parametrize("keys", [40, 300])
def test_a_row_of_one_number_hides_nothing(bias: float, keys: int) -> None:
    """Masks are often the lowest number: a row that is all of it weighs all keys alike."""
    case = heads_first(1, 1, 9, keys, 4, 4, bias=((9, keys), "s, t"))
    arrays = case.random(5)
    arrays[3][2] = bias
    result = run(case, arrays)[0, 0, 2]
    np.testing.assert_allclose(result, arrays[2][0, 0].mean(0), rtol=1e-5, atol=1e-5)
