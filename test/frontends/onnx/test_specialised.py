# SPDX-License-Identifier: MIT OR Apache-2.0
"""`specialize=`: inputs that decide shapes, which calls have to give the value compiled for."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto

import xyntra
from xyntra.errors import InputError, UnsupportedError

CONFIG = {"isolate": False, "jobs": 1, "cache": False}
X = np.arange(12, dtype=np.float32)
SHAPE = np.array([3, 4], np.int64)


def reshape_model(extra: bool = False) -> onnx.ModelProto:
    """Reshape by an input; with `extra`, the shape comes from two inputs, by Concat."""
    names = ["first", "second"] if extra else ["shape"]
    nodes = [onnx.helper.make_node("Reshape", ["x", "shape"], ["y"])]
    if extra:
        nodes.insert(0, onnx.helper.make_node("Concat", names, ["shape"], axis=0))
    size = 1 if extra else 2
    return onnx.helper.make_model(
        onnx.helper.make_graph(
            nodes,
            "test",
            [
                onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, [12]),
                *(onnx.helper.make_tensor_value_info(n, TensorProto.INT64, [size]) for n in names),
            ],
            [onnx.helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 20)],
    )


def compiled(model: onnx.ModelProto, **options: Any) -> xyntra.Executable:
    return xyntra.compile(model, config=CONFIG, **options)


def test_the_input_stays_one_and_its_value_is_checked() -> None:
    executable = compiled(reshape_model(), specialize={"shape": SHAPE})
    assert [port.name for port in executable.inputs] == ["x", "shape"]
    np.testing.assert_array_equal(executable(X, SHAPE), X.reshape(3, 4))
    with pytest.raises(InputError, match=r"value-not-compiled.*'shape'") as caught:
        executable(X, SHAPE[::-1].copy())
    assert "[3, 4]" in str(caught.value)
    assert "specialize=" in str(caught.value)


def test_values_that_decide_nothing_stay_free() -> None:
    executable = compiled(reshape_model(), specialize={"shape": SHAPE, "x": np.zeros_like(X)})
    np.testing.assert_array_equal(executable(X, SHAPE), X.reshape(3, 4))


def test_shapes_computed_from_several_inputs() -> None:
    parts = {"first": np.array([2], np.int64), "second": np.array([6], np.int64)}
    executable = compiled(reshape_model(extra=True), specialize=parts)
    np.testing.assert_array_equal(executable(X, **parts), X.reshape(2, 6))
    with pytest.raises(InputError, match="'second'"):
        executable(X, first=parts["first"], second=parts["first"])


def test_without_all_values_it_is_refused() -> None:
    with pytest.raises(UnsupportedError, match="constants="):
        compiled(reshape_model())
    with pytest.raises(UnsupportedError, match="must be a constant"):
        compiled(reshape_model(extra=True), specialize={"first": np.array([2], np.int64)})


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"form": SHAPE}, "unknown-input"),
        ({"shape": SHAPE.astype(np.int32)}, "constant-dtype"),
        ({"shape": "3x4"}, "constant-type"),
        ([SHAPE], "constant-type"),
    ],
)
def test_wrong_values(given: Any, code: str) -> None:
    with pytest.raises(InputError) as caught:
        compiled(reshape_model(), specialize=given)
    assert caught.value.code == code


def test_nan_is_the_value_that_it_was() -> None:
    """A call with the same NaN in an input that decides a shape is the call compiled for."""
    graph = onnx.helper.make_graph(
        [
            onnx.helper.make_node("Cast", ["s"], ["i"], to=TensorProto.INT64),
            onnx.helper.make_node("Slice", ["i", "zero", "one"], ["n"]),
            onnx.helper.make_node("ConstantOfShape", ["n"], ["c"]),
            onnx.helper.make_node("Add", ["c", "x"], ["y"]),
        ],
        "test",
        [
            onnx.helper.make_tensor_value_info("s", TensorProto.FLOAT, [2]),
            onnx.helper.make_tensor_value_info("x", TensorProto.FLOAT, [1]),
        ],
        [onnx.helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [
            onnx.numpy_helper.from_array(np.array([n], np.int64), name)
            for n, name in enumerate(("zero", "one"))
        ],
    )
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])
    sizes, x = np.array([3, np.nan], np.float32), np.ones(1, np.float32)
    executable = compiled(model, specialize={"s": sizes})
    np.testing.assert_array_equal(executable(sizes, x), np.ones(3))
    with pytest.raises(InputError, match="value-not-compiled"):
        executable(np.array([3, 1], np.float32), x)
