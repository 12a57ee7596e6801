# SPDX-License-Identifier: MIT OR Apache-2.0
"""Functions of functions, and conditions beside values, in the emulator and against onnxruntime."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import onnxruntime
import pytest
from emulator import run_artifact
from onnx import TensorProto, helper

import xyntra


def check(nodes: list, inputs: dict[str, np.ndarray], output: tuple, tolerance: float) -> None:
    infos = [
        helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape)
        for name, x in inputs.items()
    ]
    graph = helper.make_graph(nodes, "g", infos, [helper.make_tensor_value_info("y", *output)])
    opsets = [helper.make_opsetid("", 20)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=10)
    session = onnxruntime.InferenceSession(model.SerializeToString())
    (wanted,) = session.run(None, inputs)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    (found,) = run_artifact(artifact, list(inputs.values()), {})
    np.testing.assert_allclose(found, wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("times", [2, 3])
@pytest.mark.parametrize(
    ("function", "attributes"),
    [("Gelu", {}), ("Gelu", {"approximate": "tanh"}), ("Erf", {}), ("Tanh", {}), ("Sigmoid", {}),
     ("Mish", {}), ("Softplus", {}), ("Elu", {})],
)  # fmt: skip
def test_a_function_of_itself(function, attributes, times):
    names = ["x", *(f"v{number}" for number in range(1, times)), "y"]
    nodes = [
        helper.make_node(function, [before], [after], **attributes)
        for before, after in pairwise(names)
    ]
    x = np.random.default_rng(1).standard_normal((3, 7)).astype(np.float32) * 2
    check(nodes, {"x": x}, (TensorProto.FLOAT, x.shape), 2e-6)


@pytest.mark.parametrize("function", ["Gelu", "Erf", "Tanh"])
def test_a_function_beside_the_same_of_it(function):
    nodes = [
        helper.make_node(function, ["x"], ["a"]),
        helper.make_node(function, ["a"], ["b"]),
        helper.make_node("Add", ["a", "b"], ["y"]),
    ]
    x = np.random.default_rng(2).standard_normal((5,)).astype(np.float32)
    check(nodes, {"x": x}, (TensorProto.FLOAT, x.shape), 2e-6)


@pytest.mark.parametrize("axis", [1, 2])
@pytest.mark.parametrize("shape", [(4,), (33, 1), (1, 33, 4)])
@pytest.mark.parametrize("reduction", ["ArgMin", "Softmax"])
def test_conditions_in_rows(reduction, shape, axis):
    rng = np.random.default_rng(3)
    inputs = {
        "c": rng.integers(0, 2, shape).astype(bool),
        "a": rng.standard_normal((3, 33, 4)).astype(np.float32),
        "b": rng.standard_normal((3, 33, 1)).astype(np.float32),
    }
    nodes = [
        helper.make_node("Where", ["c", "a", "b"], ["w"]),
        helper.make_node(reduction, ["w"], ["y"], axis=axis),
    ]
    kind = TensorProto.INT64 if reduction == "ArgMin" else TensorProto.FLOAT
    check(nodes, inputs, (kind, None), 2e-6)
