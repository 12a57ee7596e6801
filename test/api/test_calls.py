# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inputs in order, by name, in mappings, as lists and as scalars."""

from __future__ import annotations

import collections
from collections.abc import Callable
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from onnx import TensorProto, helper
from onnx_models import make_model

import xyntra
from xyntra.errors import InputError
from xyntra.executable import Executable

Settings = dict[str, object]
GENERATOR = np.random.default_rng(11)
X, Y = GENERATOR.standard_normal((2, 2, 3)).astype(np.float32)


@pytest.fixture(scope="module")
def difference(settings: Settings) -> Executable:
    model = make_model([("Sub", ["x", "y"], ["z"])], {"x": [2, 3], "y": [2, 3]}, ["z"])
    return xyntra.compile(model, config=settings)


@pytest.fixture(scope="module")
def negated(settings: Settings) -> Executable:
    return xyntra.compile(
        make_model([("Neg", ["x"], ["y"])], {"x": [2, 3]}, ["y"]), config=settings
    )


WAYS: dict[str, Callable[[Any], Any]] = {
    "in order": lambda call: call(X, Y),
    "by name": lambda call: call(y=Y, x=X),
    "both": lambda call: call(X, y=Y),
    "a dict": lambda call: call({"y": Y, "x": X}),
    "another mapping": lambda call: call(collections.UserDict({"y": Y, "x": X})),
    "a mapping and a name": lambda call: call({"x": X}, y=Y),
    "lists": lambda call: call(X.tolist(), Y.tolist()),
    "tuples of arrays": lambda call: call(tuple(X), y=list(Y)),
    "lists of numpy's scalars": lambda call: call(X, [list(row) for row in Y]),
}


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_inputs_are_given_in_any_way(difference: Executable, way: Callable[[Any], Any]) -> None:
    np.testing.assert_array_equal(way(difference), X - Y)
    np.testing.assert_array_equal(way(difference.submit).result(60), X - Y)
    out = np.empty_like(X)
    assert way(lambda *given, **named: difference(*given, out=[out], **named)) is out


def test_a_mapping_for_one_input(negated: Executable) -> None:
    np.testing.assert_array_equal(negated({"x": X}), -X)
    np.testing.assert_array_equal(negated(collections.UserDict(x=X)), -X)
    np.testing.assert_array_equal(negated(x=X), -X)


@pytest.mark.parametrize("name", ["self", "input.1", "out", "ä b", "named"])
def test_inputs_of_any_name(name: str, settings: Settings) -> None:
    model = make_model([("Sub", [name, "y"], ["z"])], {name: [2, 3], "y": [2, 3]}, ["z"])
    exe = xyntra.compile(model, config=settings)
    np.testing.assert_array_equal(exe({name: X, "y": Y}), X - Y)
    if name != "out":
        np.testing.assert_array_equal(exe(**{name: X, "y": Y}), X - Y)


def typed(dtype: int, shape: list[int], settings: Settings) -> Executable:
    """y = x, in a dtype."""
    model = helper.make_model(
        helper.make_graph(
            [helper.make_node("Identity", ["x"], ["y"])],
            "g",
            [helper.make_tensor_value_info("x", dtype, shape)],
            [helper.make_tensor_value_info("y", dtype, shape)],
        ),
        opset_imports=[helper.make_opsetid("", 20)],
        ir_version=10,
    )
    return xyntra.compile(model, config=settings)


GOOD: list[tuple[int, Any, Any]] = [
    (TensorProto.FLOAT, 1.5, np.float32(1.5)),
    (TensorProto.FLOAT, 0.1, np.float32(0.1)),
    (TensorProto.FLOAT, 3, np.float32(3)),
    (TensorProto.FLOAT, 2**24, np.float32(2**24)),
    (TensorProto.FLOAT, True, np.float32(1)),
    (TensorProto.FLOAT, np.float64(0.1), np.float32(0.1)),
    (TensorProto.FLOAT, np.int64(7), np.float32(7)),
    (TensorProto.FLOAT, float("inf"), np.float32(np.inf)),
    (TensorProto.FLOAT, float("nan"), np.float32(np.nan)),
    (TensorProto.FLOAT, [1, 2.5, -3], np.array([1, 2.5, -3], np.float32)),
    (TensorProto.FLOAT, [], np.zeros(0, np.float32)),
    (TensorProto.FLOAT16, [65504, 0.1], np.array([65504, 0.1], np.float16)),
    (TensorProto.BFLOAT16, [256, 0.1], np.array([256, 0.1], ml_dtypes.bfloat16)),
    (TensorProto.BFLOAT16, ml_dtypes.bfloat16(3), ml_dtypes.bfloat16(3)),
    (TensorProto.DOUBLE, 2**53, np.float64(2**53)),
    (TensorProto.DOUBLE, np.float32(0.1), np.float64(np.float32(0.1))),
    (TensorProto.INT64, [], np.zeros(0, np.int64)),
    (TensorProto.INT64, [[1, 2], [3, -4]], np.array([[1, 2], [3, -4]])),
    (TensorProto.INT64, -(2**63), np.int64(-(2**63))),
    (TensorProto.UINT64, 2**64 - 1, np.uint64(2**64 - 1)),
    (TensorProto.INT32, np.int64(5), np.int32(5)),
    (TensorProto.INT8, [-128, 127], np.array([-128, 127], np.int8)),
    (TensorProto.UINT8, (0, 255), np.array([0, 255], np.uint8)),
    (TensorProto.INT64, [True, False], np.array([1, 0])),
    (TensorProto.BOOL, [True, False], np.array([True, False])),
    (TensorProto.BOOL, [0, 1], np.array([False, True])),
]  # fmt: skip


@pytest.mark.parametrize(("dtype", "value", "wanted"), GOOD, ids=lambda value: repr(value)[:30])
def test_values_take_the_dtype_of_the_input(
    dtype: int, value: Any, wanted: Any, settings: Settings
) -> None:
    found = typed(dtype, list(np.shape(wanted)), settings)(value)
    assert found.dtype == wanted.dtype
    np.testing.assert_array_equal(found, wanted)


BAD: list[tuple[int, Any, str]] = [
    (TensorProto.INT64, 1.0, "floats"),
    (TensorProto.INT64, [1, 2.5], "floats"),
    (TensorProto.INT64, np.float32(2), "floats"),
    (TensorProto.INT64, 2**63, "9223372036854775808"),
    (TensorProto.UINT8, [1, 256], "256"),
    (TensorProto.UINT64, -1, "-1"),
    (TensorProto.INT8, [-129], "-129"),
    (TensorProto.BOOL, [0, 2], "2"),
    (TensorProto.BOOL, 1.0, "floats"),
    (TensorProto.FLOAT, 2**24 + 1, "16777217"),
    (TensorProto.DOUBLE, [0, 2**53 + 1], "9007199254740993"),
    (TensorProto.FLOAT16, [1, 70000], "70000"),
    (TensorProto.FLOAT16, [1, 70000.0], "70000.0"),
    (TensorProto.BFLOAT16, 257, "257"),
    (TensorProto.FLOAT, 1j, "complex"),
]


@pytest.mark.parametrize(("dtype", "value", "says"), BAD, ids=lambda value: repr(value)[:30])
def test_values_that_would_change_are_refused(
    dtype: int, value: Any, says: str, settings: Settings
) -> None:
    with pytest.raises(InputError) as caught:
        typed(dtype, list(np.shape(value)), settings)(value)
    assert caught.value.code == "input-dtype"
    assert says in str(caught.value)
