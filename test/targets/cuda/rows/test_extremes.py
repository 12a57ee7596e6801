# SPDX-License-Identifier: MIT OR Apache-2.0
"""Positions of extremes on GPUs: ties, NaN and infinities, along any axis, and in parts."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from one_operator import Array, launches_of, numbers


def _with_ties(*shape: int) -> Array:
    return np.round(numbers(*shape) * 2)


def _with_special(*shape: int) -> Array:
    values = _with_ties(*shape)
    values[..., 0] = np.nan
    values[..., 1], values[..., 2], values[..., 3] = -np.inf, np.inf, -0.0
    values.reshape(-1)[:: 2 * shape[-1]] = 0.0
    values.reshape(-1)[3 :: 2 * shape[-1]] = 0.0
    return values


@pytest.mark.parametrize("make", [_with_ties, _with_special])
@pytest.mark.parametrize("operator", ["ArgMax", "ArgMin"])
@pytest.mark.parametrize(
    ("shape", "axis"), [((37, 70), 0), ((300, 17), 0), ((5, 9, 33), 1), ((3, 40, 5), 1)]
)
def test_an_extreme_takes_one_launch(make, operator, shape, axis):
    values = make(*shape)
    right = (np.argmax if operator == "ArgMax" else np.argmin)(values, axis)
    launches = launches_of(operator, [values], expected=[right], axis=axis, keepdims=0)
    assert len(launches) == 1


@pytest.mark.parametrize("dtype", [np.float16, np.int8, np.uint8, np.int32, np.int64])
def test_other_types(dtype):
    values = np.abs(_with_ties(41, 20)).astype(dtype)
    for operator, find in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
        launches_of(operator, [values], expected=[find(values, 0)], axis=0, keepdims=0)


def test_the_last_of_equals_is_not_the_first():
    values = _with_ties(37, 20)
    right = 36 - np.argmax(values[::-1], 0)
    launches_of("ArgMax", [values], expected=[right], axis=0, keepdims=0, select_last_index=1)


@pytest.mark.parametrize(
    ("shape", "axis"), [((4099, 65), 0), ((65540, 5), 0), ((40001, 3), 0), ((1, 265003), 1)]
)
def test_long_axes_are_searched_in_parts(shape, axis):
    values = _with_ties(*shape)
    values[-1, -1] = np.nan
    right = np.argmax(values, axis)
    launches = launches_of("ArgMax", [values], expected=[right], axis=axis, keepdims=0)
    assert launches[0][0] * launches[0][1] > 8000


def test_long_rows_of_bfloat16_are_searched_in_parts():
    values = _with_ties(1, 265003).astype(ml_dtypes.bfloat16)
    right = np.argmax(values.astype(np.float32), 1)
    launches = launches_of("ArgMax", [values], expected=[right], axis=1, keepdims=0)
    assert sum(blocks > 8 for blocks, _ in launches) == 2  # for the largest, and for its place
