# SPDX-License-Identifier: MIT OR Apache-2.0
"""ONNX's own interface: devices, arguments, names, and values that decide shapes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import pytest

from xyntra.errors import InputError, UnsupportedError
from xyntra.integrations import onnx_backend

Arrays = Mapping[str, np.ndarray]
CONFIG = {"isolate": False, "jobs": 1, "cache": False}


def model_of(op_type: str, inputs: Mapping[str, Any], **attributes: Any) -> onnx.ModelProto:
    node = onnx.helper.make_node(op_type, list(inputs), ["y"], **attributes)
    values = [
        onnx.helper.make_tensor_value_info(
            name, onnx.helper.np_dtype_to_tensor_dtype(array.dtype), [None] * array.ndim
        )
        for name, array in inputs.items()
    ]
    output = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [None, None])
    graph = onnx.helper.make_graph([node], "test", values, [output])
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])


def test_inputs_in_order_by_name_and_alone() -> None:
    x = np.random.default_rng(0).standard_normal((3, 5), np.float32)
    prepared = onnx_backend.prepare(model_of("Relu", {"x": x}), config=CONFIG)
    for given in ([x], {"x": x}, x):
        outputs = prepared.run(given)
        np.testing.assert_array_equal(outputs["y"], np.maximum(x, 0))
        np.testing.assert_array_equal(outputs[0], outputs.y)


def test_other_shapes_compile_again() -> None:
    rng = np.random.default_rng(1)
    prepared = onnx_backend.prepare(
        model_of("Exp", {"x": np.zeros((1, 1), np.float32)}), config=CONFIG
    )
    for shape in ((2, 3), (1, 7), (2, 3), (0, 4)):
        x = rng.standard_normal(shape, np.float32)
        np.testing.assert_allclose(prepared.run([x])[0], np.exp(x), rtol=1e-6)


def test_a_value_that_decides_a_shape_compiles_again() -> None:
    x = np.arange(12, dtype=np.float32)
    shapes = [np.array(shape, np.int64) for shape in ((3, 4), (6, 2), (3, 4))]
    prepared = onnx_backend.prepare(
        model_of("Reshape", {"x": x, "shape": shapes[0]}), config=CONFIG
    )
    for shape in shapes:
        np.testing.assert_array_equal(prepared.run([x, shape])[0], x.reshape(shape))


def test_run_node() -> None:
    x = np.array([[1, -2], [3, -4]], np.float32)
    node = onnx.helper.make_node("ReduceSum", ["x", "axes"], ["y"], keepdims=0)
    axes = np.array([1], np.int64)
    (found,) = onnx_backend.run_node(node, [x, axes], opset_version=18, config=CONFIG)
    np.testing.assert_array_equal(found, [-1, -1])


def test_devices() -> None:
    assert onnx_backend.supports_device("CPU")
    assert not onnx_backend.supports_device("TPU")
    assert not onnx_backend.supports_device("CPU:x")
    model = model_of("Relu", {"x": np.zeros(1, np.float32)})
    assert onnx_backend.is_compatible(model, "CPU")
    with pytest.raises(UnsupportedError, match="no device 'NPU'"):
        onnx_backend.prepare(model, "NPU")


def test_wrong_arguments() -> None:
    model = model_of("Relu", {"x": np.zeros(1, np.float32)})
    with pytest.raises(InputError, match="unknown-option"):
        onnx_backend.prepare(model, optimise=True)
    with pytest.raises(InputError, match="takes 1 inputs, 2 were given"):
        onnx_backend.prepare(model, config=CONFIG).run([1.0, 2.0])
    with pytest.raises(onnx.checker.ValidationError):
        onnx_backend.prepare(onnx.ModelProto())
