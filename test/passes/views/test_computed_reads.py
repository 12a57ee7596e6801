# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bodies that compute where they read, in another order of dimensions, against onnxruntime."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper

import xyntra

Array = np.ndarray
_LAST, _FIRST = [0, 2, 3, 1], [0, 3, 1, 2]


def _model(nodes, shapes, constants):
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)
        for name, shape in shapes.items()
    ]
    result = helper.make_tensor_value_info("r", TensorProto.FLOAT, None)
    weights = [numpy_helper.from_array(array, name) for name, array in constants.items()]
    graph = helper.make_graph(nodes, "graph", inputs, [result], weights)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def _check(nodes, shapes, constants, kernels=None):
    model = _model(nodes, shapes, constants)
    rng = np.random.default_rng(3)
    feeds = {name: rng.uniform(-1, 1, shape).astype(np.float32) for name, shape in shapes.items()}
    session = onnxruntime.InferenceSession(
        model.SerializeToString(), providers=["CPUExecutionProvider"]
    )
    (wanted,) = session.run(None, feeds)
    executable = xyntra.compile(model)
    found = executable.run(feeds)["r"]
    np.testing.assert_allclose(found, wanted, 1e-4, 1e-5)
    steps = [step for step in executable.artifact.plan.steps if not step.once]
    assert kernels is None or len(steps) == kernels


def _resize(mode, source="t", result="y"):
    return helper.make_node("Resize", [source, "", "s"], [result], mode=mode)


@pytest.mark.parametrize(
    ("mode", "shape", "scales"),
    [
        ("nearest", (2, 5, 7, 16), (0.6, 1.7)),
        ("linear", (2, 5, 7, 16), (0.6, 1.7)),
        ("linear", (1, 3, 5, 1), (1.5, 2.0)),
        ("cubic", (2, 5, 7, 16), (1.5, 2.0)),
        ("cubic", (1, 1, 1, 9), (3.0, 2.0)),
    ],
)
def test_resize_between_transposes(mode, shape, scales):
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=_FIRST),
        _resize(mode),
        helper.make_node("Transpose", ["y"], ["r"], perm=_LAST),
    ]
    _check(nodes, {"x": shape}, {"s": np.array([1, 1, *scales], np.float32)}, kernels=1)


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_sampling_between_transposes(mode):
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=_FIRST),
        helper.make_node("GridSample", ["t", "g"], ["y"], mode=mode),
        helper.make_node("Transpose", ["y"], ["r"], perm=_LAST),
    ]
    _check(nodes, {"x": (2, 5, 7, 8), "g": (2, 3, 4, 2)}, {})


@pytest.mark.parametrize("mode", ["constant", "reflect", "edge", "wrap"])
def test_paddings_between_transposes(mode):
    pads = [0, 0, 1, 2, 0, 3, 2, 1]
    nodes = [
        helper.make_node("Transpose", ["x"], ["t"], perm=_FIRST),
        helper.make_node("Pad", ["t", "p"], ["y"], mode=mode),
        helper.make_node("Transpose", ["y"], ["r"], perm=_LAST),
    ]
    _check(nodes, {"x": (2, 5, 7, 8)}, {"p": np.array(pads, np.int64)})


def test_pieces_of_a_pyramid_between_transposes():
    nodes = [helper.make_node("Transpose", ["x"], ["t"], perm=_FIRST)]
    for number, size in enumerate((1, 2, 3, 6)):
        window = {"kernel_shape": [12 // size] * 2, "strides": [12 // size] * 2}
        nodes.append(helper.make_node("AveragePool", ["t"], [f"a{number}"], **window))
        sizes = [f"a{number}", "", "", "n"]
        nodes.append(helper.make_node("Resize", sizes, [f"b{number}"], mode="linear"))
    nodes.append(helper.make_node("Concat", ["t", "b0", "b1", "b2", "b3"], ["y"], axis=1))
    nodes.append(helper.make_node("Transpose", ["y"], ["r"], perm=_LAST))
    _check(nodes, {"x": (2, 12, 12, 16)}, {"n": np.array([2, 16, 12, 12], np.int64)})


@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_resize_between_convolutions(mode):
    """Convolutions store their channels last, and what lies between them follows."""
    rng = np.random.default_rng(5)
    constants = {
        "v": rng.uniform(-0.1, 0.1, (64, 8, 3, 3)).astype(np.float32),
        "w": rng.uniform(-0.1, 0.1, (32, 65, 3, 3)).astype(np.float32),
        "s": np.array([1, 1, 2, 1.5], np.float32),
    }
    around = {"pads": [1, 1, 1, 1]}
    nodes = [
        helper.make_node("Conv", ["x", "v"], ["t"], **around),
        _resize(mode),
        helper.make_node("ReduceMax", ["y", "one"], ["largest"]),
        helper.make_node("Concat", ["y", "largest"], ["z"], axis=1),
        helper.make_node("Conv", ["z", "w"], ["r"], **around),
    ]
    _check(nodes, {"x": (1, 8, 20, 24)}, constants | {"one": np.array([1], np.int64)})
