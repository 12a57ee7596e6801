# SPDX-License-Identifier: MIT OR Apache-2.0
"""NonZero and Compress: results as long as the data says, cut by each call."""

from __future__ import annotations

import numpy as np
import pytest
from arrays import integers, normal
from harness import compare, node_model, reference, run_compiled
from onnx.reference import ReferenceEvaluator
from refusals import check_invalid


@pytest.mark.parametrize("shape", [(1,), (17,), (3, 5), (2, 1, 7), (0, 4), (2, 3, 4, 5)])
@pytest.mark.parametrize("dtype", ["float32", "int64", "bool", "float16"])
def test_non_zero_as_onnxruntime(shape: tuple[int, ...], dtype: str) -> None:
    x = integers(-1, 2, *shape).astype(dtype)
    model = node_model("NonZero", {"x": x})
    wide = {"x": x.astype(np.float32) if dtype == "float16" else x}
    compare(run_compiled(model, {"x": x}), reference(node_model("NonZero", wide), wide), 0, 0)


def test_non_zero_of_special_numbers() -> None:
    x = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1e-45], np.float32)
    np.testing.assert_array_equal(
        run_compiled(node_model("NonZero", {"x": x}), {"x": x})[0], [[2, 3, 4, 5]]
    )


@pytest.mark.parametrize("value", [0, 3])
def test_non_zero_of_one_number(value: int) -> None:
    x = np.array(value, np.float32)
    (found,) = run_compiled(node_model("NonZero", {"x": x}), {"x": x})
    assert found.shape == (0, int(value != 0))


def test_all_and_none() -> None:
    for fill in (0, 1):
        x = np.full((4, 5), fill, np.int32)
        (found,) = run_compiled(node_model("NonZero", {"x": x}), {"x": x})
        np.testing.assert_array_equal(found, np.array(np.nonzero(x)))


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("dtype", ["float32", "float16", "int64", "bool"])
def test_compress_by_a_condition_of_the_call(axis: int | None, dtype: str) -> None:
    x = integers(0, 9, 5, 7).astype(dtype)
    length = x.size if axis is None else x.shape[axis]
    for count in {length, length - 2, 1, 0}:
        inputs = {"x": x, "c": integers(0, 2, count, seed=count).astype(bool)}
        options = {} if axis is None else {"axis": axis}
        model = node_model("Compress", inputs, **options)
        (wanted,) = ReferenceEvaluator(model).run(None, inputs)
        compare(run_compiled(model, inputs), [wanted], 0, 0)


def test_compress_keeps_nan() -> None:
    x = normal(3, 4)
    x[1, 2] = np.nan
    inputs = {"x": x, "c": np.array([False, True])}
    (found,) = run_compiled(node_model("Compress", inputs, axis=0), inputs)
    np.testing.assert_array_equal(found, x[1:2])


def test_a_condition_that_is_too_long() -> None:
    inputs = {"x": normal(3), "c": np.ones(4, bool)}
    check_invalid("Compress", inputs, "longer than the axis")
