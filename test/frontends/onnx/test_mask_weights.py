# SPDX-License-Identifier: MIT OR Apache-2.0
"""Weights that are masks of positions are computed, so that attention becomes causal."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import onnx
import pytest
from arrays import normal
from onnx import helper, numpy_helper

import xyntra
from xyntra.frontends.onnx.file.container import scan
from xyntra.frontends.onnx.file.patterns import TriangularValues

S = 96


def stored(weight: np.ndarray, nodes: list[onnx.NodeProto], inputs: dict[str, list[int]]) -> bytes:
    """A model given as bytes: `nodes` make `y` of its inputs, the weight `w` and numbers."""
    given = [helper.make_tensor_value_info(n, onnx.TensorProto.FLOAT, s) for n, s in inputs.items()]
    kind = helper.np_dtype_to_tensor_dtype(weight.dtype) if not given else onnx.TensorProto.FLOAT
    made = helper.make_tensor_value_info("y", kind, None)
    weights = [numpy_helper.from_array(weight, "w"), *_NUMBERS]
    graph = helper.make_graph(nodes, "g", given, [made], weights)
    opset = helper.make_opsetid("", 18)
    return helper.make_model(graph, opset_imports=[opset], ir_version=9).SerializeToString()


_NUMBERS = [
    numpy_helper.from_array(np.array(value, dtype), name)
    for name, value, dtype in (
        ("zero", 0, np.float32),
        ("low", -np.inf, np.float32),
        ("starts", [3, 3], np.int64),
        ("ends", [S + 3, S + 3], np.int64),
    )
]


def pattern_of(weight: np.ndarray) -> TriangularValues | None:
    nodes = [helper.make_node("Identity", ["w"], ["y"])]
    model = onnx.load_from_string(scan(stored(weight, nodes, {})).skeleton)
    texts = {entry.key: entry.value for entry in model.graph.initializer[0].external_data}
    return (
        TriangularValues.from_text(texts["xyntra.pattern"]) if "xyntra.pattern" in texts else None
    )


@pytest.mark.parametrize("dtype", ["float32", "bool", "float16", "bfloat16", "int64"])
@pytest.mark.parametrize("shape", [(80, 80), (1, 1, 40, 70), (70, 40)])
@pytest.mark.parametrize("diagonal", [-1, 0, 1, 17])
def test_triangles_are_found(dtype: str, shape: tuple[int, ...], diagonal: int) -> None:
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    weight = np.where(np.tri(*shape[-2:], diagonal, dtype=bool), 1, 0).astype(kind)
    weight = weight.reshape(shape)
    assert pattern_of(weight) == TriangularValues(
        np.ones(1, kind).tobytes(), np.zeros(1, kind).tobytes(), diagonal
    )
    weight[..., 23, 11] = 1 - weight[..., 23, 11]
    assert pattern_of(weight) is None


def test_equal_elements_are_found_and_other_weights_are_not() -> None:
    zero = np.float32(-0.0).tobytes()
    assert pattern_of(np.full((2, 30, 30), -0.0, np.float32)) == TriangularValues(zero, zero)
    last = np.ones((700, 700), np.float32)
    last[-1, -1] = 2
    assert pattern_of(last) is None
    assert pattern_of(np.stack([np.tri(40, dtype=np.float32)] * 2)) is None
    assert pattern_of(np.tri(40, k=-2, dtype=np.float32)) is None
    assert pattern_of(normal(30, 30)) is None
    assert pattern_of(np.repeat([1.0, 2.0], 300)) is None


def spelled(kind: str) -> tuple[np.ndarray, list[onnx.NodeProto]]:
    """Return a weight, and nodes that hide the scores of later keys by it."""
    node = helper.make_node
    triangle = np.tri(S, dtype=np.float32)
    if kind == "added":
        bias = np.where(triangle > 0, np.float32(0), np.float32(-np.inf))
        return bias, [node("Add", ["scores", "w"], ["hidden"])]
    if kind == "sliced":
        cut = node("Slice", ["w", "starts", "ends"], ["cut"])
        bits = node("Equal", ["cut", "zero"], ["bits"])
        return np.tri(S + 8, dtype=np.float32), [
            cut,
            bits,
            node("Where", ["bits", "low", "scores"], ["hidden"]),
        ]
    if kind == "boolean":
        return triangle.astype(bool), [node("Where", ["w", "scores", "low"], ["hidden"])]
    cut = node("Trilu", ["w"], ["cut"], upper=0)
    bits = node("Equal", ["cut", "zero"], ["bits"])
    bias = node("Where", ["bits", "low", "zero"], ["bias"])
    return np.ones((S, S), np.float32), [
        cut,
        bits,
        bias,
        node("Add", ["scores", "bias"], ["hidden"]),
    ]


@pytest.mark.parametrize("kind", ["ones", "boolean", "sliced", "added"])
def test_masks_that_are_weights_become_causal(kind: str) -> None:
    weight, nodes = spelled(kind)
    nodes = [
        helper.make_node("MatMul", ["q", "k"], ["scores"]),
        *nodes,
        helper.make_node("Softmax", ["hidden"], ["weights"], axis=-1),
        helper.make_node("MatMul", ["weights", "q"], ["y"]),
    ]
    shapes = {"q": [2, S, 16], "k": [2, 16, S]}
    executable = xyntra.compile(stored(weight, nodes, shapes))
    (kernel,) = executable.kernels
    assert "causal = true" in kernel.text
    assert not executable.weights
    q, k = (normal(*shape, seed=i) for i, shape in enumerate(shapes.values()))
    scores = np.where(np.tri(S, dtype=bool), np.float64(q) @ np.float64(k), -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    expected = weights / weights.sum(-1, keepdims=True) @ np.float64(q)
    np.testing.assert_allclose(executable(q, k), expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("how", ["multiplied", "returned", "added"])
def test_other_weights_of_equal_elements_stay_parameters(how: str) -> None:
    node = helper.make_node
    nodes: dict[str, list[Any]] = {
        "multiplied": [node("Mul", ["scores", "w"], ["y"])],
        "returned": [node("Trilu", ["w"], ["z"]), node("Identity", ["w"], ["y"])],
        "added": [node("Trilu", ["w"], ["z"]), node("Add", ["scores", "w"], ["y"])],
    }
    weight, scores = np.ones((S, S), np.float32), normal(2, S, S)
    executable = xyntra.compile(stored(weight, nodes[how], {"scores": [2, S, S]}))
    assert set(executable.weights) == {"w"}
    expected = {"multiplied": scores, "returned": weight, "added": scores + 1}[how]
    np.testing.assert_array_equal(executable(scores), expected)
