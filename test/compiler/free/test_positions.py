# SPDX-License-Identifier: MIT OR Apache-2.0
"""Positions that a model counts, and masks of them, which follow the size of a call."""

from typing import Any

import numpy as np
import onnx
from onnx_models import make_model

import xyntra

Array = np.ndarray[Any, Any]
DIMS = {"n": range(1, 101)}
TABLE = np.random.default_rng(0).standard_normal((128, 8)).astype(np.float32)


def _model() -> onnx.ModelProto:
    """Embeddings of counted positions, and a causal mask that `Trilu` makes of ones."""
    op = onnx.helper.make_node
    ones = onnx.numpy_helper.from_array(np.array([1], np.float32))
    nodes = [
        op("Shape", ["x"], ["shape"]),
        op("Gather", ["shape", "first"], ["n"]),
        op("Range", ["zero", "n", "one"], ["positions"]),
        op("Gather", ["table", "positions"], ["embedded"]),
        op("Add", ["x", "embedded"], ["e"]),
        op("Unsqueeze", ["n", "first1"], ["n1"]),
        op("Concat", ["n1", "n1"], ["square"], axis=0),
        op("ConstantOfShape", ["square"], ["full"], value=ones),
        op("Trilu", ["full"], ["lower"], upper=0),
        op("MatMul", ["lower", "e"], ["y"]),
    ]
    held = {
        "first": np.array(0),
        "first1": np.array([0]),
        "zero": np.array(0),
        "one": np.array(1),
        "table": TABLE,
    }
    model: onnx.ModelProto = make_model(nodes, {"x": ["n", 8]}, ["y"], held)
    return model


def test_positions_and_masks_are_those_of_the_call() -> None:
    settings = {"cache": False, "strict": True}
    exe = xyntra.compile(_model(), target="cpu", dims=DIMS, config=settings)
    for n in (1, 2, 3, 64, 65, 100):
        x = np.random.default_rng(n).standard_normal((n, 8)).astype(np.float32)
        expected = np.cumsum(x.astype(np.float64) + TABLE[:n], 0)
        np.testing.assert_allclose(exe(x), expected, rtol=1e-4, atol=1e-4)


def test_sums_and_indexed_elements_find_their_rows() -> None:
    """Rows are as long as a size: a running sum, and elements that indices choose."""
    op = onnx.helper.make_node
    nodes = [
        op("CumSum", ["x", "axis"], ["sums"]),
        op("GatherElements", ["sums", "places"], ["y"], axis=1),
    ]
    inputs = {"x": ["m", "n"], "places": ["m", "n", "int64"]}
    values = [
        onnx.helper.make_tensor_value_info(
            name, onnx.TensorProto.INT64 if "int64" in shape else onnx.TensorProto.FLOAT, shape[:2]
        )
        for name, shape in inputs.items()
    ]
    result = onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, None)
    axis = onnx.numpy_helper.from_array(np.array(1), "axis")
    graph = onnx.helper.make_graph(nodes, "g", values, [result], [axis])
    opsets = [onnx.helper.make_opsetid("", 18)]
    model = onnx.helper.make_model(graph, opset_imports=opsets, ir_version=9)
    settings = {"cache": False, "strict": True}
    dims = {"m": range(1, 9), "n": range(1, 101)}
    exe = xyntra.compile(model, target="cpu", dims=dims, config=settings)
    for m, n in ((1, 1), (3, 17), (8, 100)):
        rng = np.random.default_rng(n)
        x, places = rng.standard_normal((m, n)).astype(np.float32), rng.integers(0, n, (m, n))
        expected = np.take_along_axis(np.cumsum(x.astype(np.float64), 1), places, 1)
        np.testing.assert_allclose(exe(x, places), expected, rtol=1e-4, atol=1e-4)
