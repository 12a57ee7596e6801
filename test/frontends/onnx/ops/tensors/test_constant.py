# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors made from shapes and numbers, against onnxruntime."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import onnx
import pytest
from harness import check, check_node, node_model, run
from refusals import check_invalid, check_unsupported


@pytest.mark.parametrize("shape", [[2, 3], [0, 4], [100, 70], []])
@pytest.mark.parametrize("dtype", [None, np.int64, np.float16, np.bool_, np.uint8])
def test_constant_of_shape(shape: list[int], dtype: type | None) -> None:
    value = {} if dtype is None else {"value": onnx.numpy_helper.from_array(np.array([1], dtype))}
    check(
        node_model("ConstantOfShape", {}, constants={"s": np.array(shape, np.int64)}, **value), {}
    )


def test_constant_of_shape_refuses() -> None:
    check_invalid("ConstantOfShape", {}, "negative", constants={"s": np.array([2, -1])})
    two = onnx.numpy_helper.from_array(np.zeros(2, np.float32))
    check_invalid(
        "ConstantOfShape", {}, "'value'|not fit", constants={"s": np.array([9000])}, value=two
    )
    check_unsupported("ConstantOfShape", {"s": np.array([2])}, "must be a constant")


@pytest.mark.parametrize("numbers", [(0, 10, 3), (5, -4, -2), (3, 3, 1), (0, -5, 1), (0, 9000, 2)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32, np.float64])
def test_range(numbers: tuple[int, int, int], dtype: type) -> None:
    constants = {name: np.array(n, dtype) for name, n in zip("abc", numbers, strict=True)}
    check(node_model("Range", {}, constants=constants), {})


@pytest.mark.parametrize("count", [7, 5000])
def test_range_of_fractions(count: int) -> None:
    values = [0.5, 0.5 + 0.1 * count - 0.05, 0.1]
    constants = {name: np.array(n, np.float32) for name, n in zip("abc", values, strict=True)}
    check(node_model("Range", {}, constants=constants), {}, rtol=1e-4)


def test_range_of_bfloat16() -> None:
    constants = {
        name: np.array(n, ml_dtypes.bfloat16) for name, n in zip("abc", (1, 400, 3), strict=True)
    }
    (found,) = run(node_model("Range", {}, opset=27, constants=constants), {})
    np.testing.assert_array_equal(found, np.arange(1, 400, 3).astype(ml_dtypes.bfloat16))


def test_range_refuses() -> None:
    constants = {name: np.array(n) for name, n in zip("abc", (0, 5, 0), strict=True)}
    check_invalid("Range", {}, "delta is 0", constants=constants)
    floats = {name: np.float32(n) for name, n in zip("abc", (0, 1e30, 1e-30), strict=True)}
    check_invalid("Range", {}, "is not the shape of a tensor", constants=floats)
    check_unsupported(
        "Range", {"a": np.array(0), "b": np.array(3), "c": np.array(1)}, "must be a constant"
    )


@pytest.mark.parametrize("k", [-3, -1, 0, 1, 9])
def test_eye_like(k: int) -> None:
    x = np.zeros((3, 5), np.int32)
    check_node("EyeLike", {"x": x}, k=k)
    check_node("EyeLike", {"x": x}, k=k, dtype=onnx.TensorProto.FLOAT)
    check_invalid("EyeLike", {"x": x[0]}, "rank 1")


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
@pytest.mark.parametrize("index_type", [np.int64, np.float32])
def test_one_hot(axis: int, index_type: type) -> None:
    indices = np.array([[0, 2, -1], [5, -5, 99]]).astype(index_type)
    constants = {"d": np.array(5, np.int64), "v": np.array([-1, 4], np.float32)}
    (found,) = run(
        node_model("OneHot", {"i": indices}, constants=constants, axis=axis), {"i": indices}
    )
    wrapped = np.where(indices < 0, indices + 5, indices)
    hot = np.expand_dims(wrapped, axis) == np.moveaxis(np.arange(5).reshape(5, 1, 1), 0, axis)
    np.testing.assert_array_equal(found, np.where(hot, np.float32(4), np.float32(-1)))


def test_one_hot_values_from_the_data() -> None:
    feeds = {"i": np.array([1, 0, 3]), "v": np.array([2, 7], np.int64)}
    options = {"constants": {"d": np.array([4])}, "names": ["i", "d", "v"]}
    check_node("OneHot", feeds, **options)


def test_one_hot_refuses() -> None:
    values = np.array([0, 1], np.float32)
    feeds = {"i": np.array([1])}
    check_invalid("OneHot", feeds, "negative", constants={"d": np.array(-1), "v": values})
    check_invalid("OneHot", feeds, "values", constants={"d": np.array(3), "v": values[:1]})
    check_unsupported("OneHot", {**feeds, "d": np.array(3)}, "constant", constants={"v": values})


@pytest.mark.parametrize("upper", [0, 1])
@pytest.mark.parametrize("k", [None, -4, -1, 0, 2, 7])
def test_trilu(upper: int, k: int | None) -> None:
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    x[0, 0, 0] = x[1, 2, 0] = np.nan
    constants = {} if k is None else {"k": np.array(k)}
    check_node("Trilu", {"x": x}, constants=constants, upper=upper)
    if k is not None:
        check_node("Trilu", {"x": x, "k": np.array(k)}, upper=upper)


def test_trilu_refuses() -> None:
    check_invalid("Trilu", {"x": np.ones(3, np.float32)}, "rank 1")
