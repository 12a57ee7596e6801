# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention of a few queries, which reads keys and values where they lie, against float64."""

from __future__ import annotations

import numpy as np
import pytest
from attention_cases import Case, expected, heads_first, kernel, run

from xyntra.passes.lower.cpu import LoweringOptions, lower_kernel

MACHINES = {
    "narrow": LoweringOptions(),
    "wide": LoweringOptions(512, 32),
    "short": LoweringOptions(128, 32),
}


def shared(queries: int, keys: int, size: int, by: int, causal_offset: int | None = None) -> Case:
    """Eight heads, of which `by` neighbours share keys and values."""
    return Case(
        (2, 8, queries, keys, size, size),
        ((2, 8, queries, size), "b, h, s, d"),
        ((2, 8 // by, keys, size), f"b, h floordiv {by}, t, d"),
        ((2, 8 // by, keys, size), f"b, h floordiv {by}, t, e"),
        ((2, 8, queries, size), "b, h, s, e"),
        causal_offset=causal_offset,
    )


IN_PLACE = {
    "one query": heads_first(1, 3, 1, 129, 64, 64),
    "one key": heads_first(1, 3, 1, 1, 64, 64),
    "three keys": heads_first(2, 2, 2, 3, 32, 16),
    "four queries": heads_first(2, 3, 4, 333, 64, 128),
    "several chunks": heads_first(1, 2, 1, 1301, 16, 160),
    "chunks of three queries": heads_first(1, 2, 3, 1030, 48, 32),
    "ragged vectors": heads_first(1, 2, 2, 77, 40, 72),
    "shared by two": shared(1, 300, 64, 2),
    "shared by four": shared(1, 21, 80, 4),
    "shared by eight, which are too many": shared(1, 50, 64, 8),
    "last token": shared(1, 40, 64, 4, causal_offset=39),
    "keep": heads_first(2, 3, 1, 600, 64, 64, keep=((2, 600), "b, t")),
    "bias": heads_first(2, 3, 3, 37, 64, 64, bias=((2, 3, 3, 37), "b, h, s, t")),
    "half": heads_first(1, 2, 1, 21, 16, 16, dtype="float16"),
    "heads last": Case(
        (2, 3, 1, 30, 16, 16),
        ((2, 1, 3, 16), "b, 0, h, d"),
        ((2, 30, 3, 16), "b, t, h, d"),
        ((2, 30, 3, 16), "b, t, h, e"),
        ((2, 1, 48), "b, 0, h * 16 + e"),
    ),
    "keys shared by four, values by two": Case(
        (1, 8, 1, 20, 16, 16),
        ((8, 1, 16), "h, 0, d"),
        ((2, 20, 16), "h floordiv 4, t, d"),
        ((4, 20, 16), "h floordiv 2, t, e"),
        ((8, 1, 16), "h, 0, e"),
        bias=((8, 20), "h, t"),
    ),
    "one value": Case(
        (1, 2, 2, 9, 16, 16),
        ((2, 2, 16), "h, s, d"),
        ((2, 9, 16), "h, t, d"),
        ((2, 1, 16), "h, 0, e"),
        ((2, 2, 16), "h, s, e"),
    ),
}
PACKED = {
    "five queries": heads_first(1, 2, 5, 40, 64, 64),
    "causal": heads_first(1, 2, 4, 40, 64, 64, causal_offset=20),
    "odd sizes": heads_first(1, 2, 1, 40, 10, 64),
    "turned keys": Case(
        (1, 2, 1, 30, 16, 16),
        ((2, 1, 16), "h, 0, d"),
        ((2, 16, 30), "h, d, t"),
        ((2, 30, 16), "h, t, e"),
        ((2, 1, 16), "h, 0, e"),
    ),
}
TOLERANCE = {"float32": 3e-6, "float16": 1e-3}


def check(case: Case, machine: LoweringOptions, arrays: list[np.ndarray]) -> None:
    limit = TOLERANCE[case.dtype]
    result = run(case, arrays, options=machine).astype("f8")
    np.testing.assert_allclose(result, expected(case, arrays), rtol=limit, atol=limit)


def schedule(case: Case, machine: LoweringOptions) -> str:
    (found,) = (s for s in lower_kernel(kernel(case), machine).schedules if "attention" in s)
    return found


@pytest.mark.parametrize("machine", MACHINES)
@pytest.mark.parametrize("name", IN_PLACE)
def test_in_place(name: str, machine: str) -> None:
    case = IN_PLACE[name]
    check(case, MACHINES[machine], case.random(int(np.random.default_rng().integers(1 << 30))))
    if "too many" not in name:
        assert "in_place" in schedule(case, MACHINES[machine])


@pytest.mark.parametrize("name", PACKED)
def test_packed(name: str) -> None:
    case = PACKED[name]
    check(case, MACHINES["wide"], case.random(3))
    assert "in_place" not in schedule(case, MACHINES["wide"])


@pytest.mark.parametrize("machine", MACHINES)
def test_heads_that_share_keys_are_one_tile(machine: str) -> None:
    assert "rows 4" in schedule(shared(1, 21, 64, 4), MACHINES[machine])


@pytest.mark.parametrize("masked_rows", ["nan", "zero", "zero_if_empty"])
def test_rows_without_keys(masked_rows: str) -> None:
    mask = ((3, 530), "s, t")
    case = heads_first(1, 2, 3, 530, 32, 32, keep=mask, masked_rows=masked_rows)
    arrays = case.random(5)
    arrays[3][1], arrays[3][2, 3:] = False, False
    check(case, MACHINES["wide"], arrays)


def test_nan_and_infinite_values_of_keys_that_are_left_out_by_masks() -> None:
    case = heads_first(1, 2, 2, 50, 32, 32, keep=((50,), "t"))
    arrays = case.random(6)
    arrays[3][:] = True
    arrays[3][[0, 49]] = False
    arrays[1][..., 0, :], arrays[1][..., 49, :] = np.nan, np.inf
    check(case, MACHINES["wide"], arrays)
