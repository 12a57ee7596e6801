# SPDX-License-Identifier: MIT OR Apache-2.0
"""The best elements of rows: blocks that sort, or keep the best, of ties, NaN and infinities."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from emulator import run_artifact
from one_operator import Array, launches_of, numbers

import xyntra


def best(values: Array, count: int, axis: int, largest: bool = True) -> list[tuple[int, int]]:
    """Compare with a sort: NaN last, and of equals the one of lower position first."""
    wide = values.astype(np.float64)
    missing = np.isnan(wide)
    order = np.argsort(np.where(missing, 0, -wide if largest else wide), axis, kind="stable")
    late = np.argsort(np.take_along_axis(missing, order, axis), axis, kind="stable")
    order = np.take(np.take_along_axis(order, late, axis), range(count), axis)
    right = [np.take_along_axis(values, order, axis), order]
    how = {"axis": axis, "largest": int(largest)}
    return launches_of("TopK", [values], np.array([count]), expected=right, **how)


def with_special(rows: int, length: int) -> Array:
    values = np.round(numbers(rows, length) * 3)
    values[:, ::7] = np.nan
    values[:, 3:7] = -np.inf, np.inf, -0.0, 0.0
    return values


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("count", [5, 130])
def test_short_rows(count: int, largest: bool) -> None:
    ((blocks, _),) = best(with_special(3, 130), count, 1, largest)
    assert blocks == 3


@pytest.mark.parametrize("dtype", [np.float16, np.uint8, np.int8, np.int32])
def test_other_types(dtype: type) -> None:
    values = np.random.default_rng(5).integers(-128, 128, (4, 300)).astype(dtype)
    best(values, 40, 1)
    best(values, 40, 1, largest=False)


def test_other_dimensions() -> None:
    ((blocks, _),) = best(np.round(numbers(5, 90, 6) * 9), 7, 1)
    assert blocks == 30


def test_many_rows_that_are_short_are_left_to_threads() -> None:
    assert best(numbers(5000, 10), 3, 1)[-1] == (157, 32)


@pytest.mark.parametrize("kind", ["random", "rising", "falling", "special"])
def test_long_rows_in_parts(kind: str) -> None:
    values = with_special(1, 4500) if kind == "special" else np.round(numbers(1, 4500) * 500)
    if kind in ("rising", "falling"):
        values = np.sort(values)[:, :: 1 if kind == "rising" else -1].copy()
    (parts, _), (rows, _) = best(values, 50, 1)
    assert (parts, rows) == (2, 1)


def test_rows_of_almost_nothing_but_nan() -> None:
    values = np.round(numbers(2, 9001) * 5)
    values[0, :8970] = np.nan
    best(values, 60, 1)


def test_many_of_a_long_row_are_sorted_by_merging() -> None:
    assert len(best(np.round(numbers(1, 4500) * 500), 4500, 1)) == 4


@pytest.mark.parametrize(("dtype", "lost"), [("float16", 13), ("bfloat16", 16)])
def test_sorted_rows_of_16_bits(dtype: str, lost: int) -> None:
    rng = np.random.default_rng(3)
    values = (rng.standard_normal((2, 1100)) * 4).astype(np.float32)
    values = (values.view(np.uint32) >> lost << lost).view(np.float32)
    values[:, 5:9] = np.nan, np.inf, -np.inf, -0.0
    kind = {"float16": 10, "bfloat16": 16}[dtype]
    model = onnx.parser.parse_model(f"""
<ir_version: 8, opset_import: ["" : 18]>
graph (float[2,1100] x) => (float[2,1100] y, int64[2,1100] i)
<int64[1] k = {{1100}}>
{{
  b = Cast<to = {kind}>(x)
  v, i = TopK<axis = 1>(b, k)
  y = Cast<to = 1>(v)
}}
""")
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    found, places = run_artifact(artifact, [values], {})
    missing = np.isnan(values)
    order = np.argsort(np.where(missing, np.inf, -values), axis=1, kind="stable")
    late = np.argsort(np.take_along_axis(missing, order, 1), axis=1, kind="stable")
    order = np.take_along_axis(order, late, 1)
    np.testing.assert_array_equal(places, order)
    np.testing.assert_array_equal(found, np.take_along_axis(values, order, 1))


@pytest.mark.parametrize(("kind", "count"), [("special", 100), ("falling", 128), ("equal", 65)])
def test_many_of_long_rows_which_are_read_twice(kind: str, count: int) -> None:
    values = with_special(1, 4200) if kind == "special" else np.round(numbers(1, 4200) * 500)
    values = np.sort(values)[:, ::-1].copy() if kind == "falling" else values
    (parts, _), (rows, _) = best(np.sign(values) if kind == "equal" else values, count, 1)
    assert (parts, rows) == (2, 1)


def test_many_of_long_rows_of_16_bits() -> None:
    best(with_special(1, 4200).astype(np.float16), 120, 1)
