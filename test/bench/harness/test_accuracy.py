# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests when outputs count as close enough to a reference."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bench.harness.accuracy import Difference, compare, worst

REFERENCE = np.array([0.0, 1.0, -100.0], np.float32)


def one(output: np.ndarray, reference: np.ndarray = REFERENCE) -> Difference:
    return compare({"y": output}, {"y": reference})


def test_equal_arrays_do_not_differ() -> None:
    difference = one(REFERENCE.copy())
    assert difference.absolute == 0
    assert difference.close


@pytest.mark.parametrize(
    ("index", "distance", "close"),
    [(0, 0.9e-4, True), (0, 1.1e-4, False), (2, 0.09, True), (2, 0.11, False), (2, -0.11, False)],
)
def test_the_bound_grows_with_the_reference(index: int, distance: float, close: bool) -> None:
    output = REFERENCE.copy()
    output[index] += distance
    difference = one(output)
    assert difference.close is close
    assert difference.absolute == pytest.approx(abs(distance), rel=1e-3)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_must_be_the_same(value: float) -> None:
    output = REFERENCE.copy()
    output[1] = value
    assert one(output).absolute == math.inf
    assert not one(output).close
    assert not one(REFERENCE, output).close
    assert one(output, output.copy()).close


def test_integers_are_compared_without_wrapping() -> None:
    low, high = np.array([-(2**31)], np.int32), np.array([2**31 - 1], np.int32)
    assert one(low, high).absolute == 2.0**32 - 1


def test_empty_arrays_are_close() -> None:
    assert one(np.zeros((0, 3)), np.zeros((0, 3))).close


@pytest.mark.parametrize(
    "output", [REFERENCE.astype(np.float64), REFERENCE.reshape(3, 1), REFERENCE[:2]]
)
def test_another_shape_or_dtype_is_an_error(output: np.ndarray) -> None:
    with pytest.raises(ValueError, match="output 'y' is"):
        one(output)


def test_a_missing_output_is_an_error() -> None:
    with pytest.raises(ValueError, match="are not"):
        compare({}, {"y": REFERENCE})


def test_the_worst_of_each_distance_is_kept() -> None:
    assert worst([Difference(1.0, -2.0), Difference(0.5, 3.0)]) == Difference(1.0, 3.0)
