# SPDX-License-Identifier: MIT OR Apache-2.0
"""Comparisons, boolean operators and selection, against onnxruntime."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check, check_node, node_model, operators_model, run
from refusals import check_invalid

COMPARISONS = ["Equal", "Greater", "GreaterOrEqual", "Less", "LessOrEqual"]
SPECIAL = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1, -1], np.float32)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(6)


def test_comparisons_of_special_values() -> None:
    left, right = np.meshgrid(SPECIAL, SPECIAL)
    check(operators_model(COMPARISONS, {"x": left, "y": right}), {"x": left, "y": right})


@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.uint8, np.float64])
def test_comparisons_of_dtypes(dtype: type, rng: np.random.Generator) -> None:
    x, y = rng.integers(0, 4, (3, 1, 5)).astype(dtype), rng.integers(0, 4, (4, 1)).astype(dtype)
    check(operators_model(COMPARISONS, {"x": x, "y": y}), {"x": x, "y": y})


def test_unsigned_compare_as_unsigned() -> None:
    feeds = {"x": np.array([200, 1], np.uint8), "y": np.array([100, 255], np.uint8)}
    (found,) = run(node_model("Greater", feeds), feeds)
    assert found.tolist() == [True, False]


def test_booleans() -> None:
    x, y = np.meshgrid([True, False], [True, False])
    feeds = {"x": x, "y": y[:, :1]}
    check(operators_model(["And", "Or", "Xor", "Equal"], feeds), feeds)


def test_not() -> None:
    check_node("Not", {"x": np.array([[True, False, True]])})
    check_invalid("Not", {"x": np.ones(2, np.int8)}, "cannot be int8")


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int32, np.int64, np.uint8, np.bool_])
def test_where(dtype: type, rng: np.random.Generator) -> None:
    condition = rng.integers(0, 2, (4, 1)).astype(bool)
    x, y = rng.integers(0, 9, (3, 4, 5)).astype(dtype), rng.integers(0, 9, (5,)).astype(dtype)
    (found,) = run(
        node_model("Where", {"c": condition, "x": x, "y": y}), {"c": condition, "x": x, "y": y}
    )
    np.testing.assert_array_equal(found, np.where(condition, x, y))
    assert found.dtype == dtype


def test_where_of_constants(rng: np.random.Generator) -> None:
    constants = {"x": np.array(-np.inf, np.float32), "y": np.array([0.0], np.float32)}
    check_node("Where", {"c": rng.integers(0, 2, (2, 3)).astype(bool)}, constants=constants)


def test_is_nan() -> None:
    check_node("IsNaN", {"x": SPECIAL})
    check_node("IsNaN", {"x": SPECIAL.astype(np.float16)})


@pytest.mark.parametrize("positive", [0, 1])
@pytest.mark.parametrize("negative", [0, 1])
def test_is_inf(positive: int, negative: int) -> None:
    check_node("IsInf", {"x": SPECIAL}, detect_positive=positive, detect_negative=negative)
    check_node("IsInf", {"x": SPECIAL.astype(np.float64)})
