# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares recognised graphs with float64 and with onnxruntime."""

from __future__ import annotations

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx.reference import ReferenceEvaluator
from onnx_models import make_model
from pattern_models import Written, recognised, written_models

import xyntra

Array = np.ndarray
MODELS = [model for model in written_models() if model.named_op]
PARAMETERS = [pytest.param(model, id=model.title.replace(" ", "-")) for model in MODELS]


def feeds(model: onnx.ModelProto, dtype: str = "float32") -> dict[str, Array]:
    """Random inputs of the model."""
    generator = np.random.default_rng()
    return {
        each.name: (generator.standard_normal(_shape(each)) * 2).astype(dtype)
        for each in model.graph.input
    }


def _shape(value: onnx.ValueInfoProto) -> tuple[int, ...]:
    return tuple(dimension.dim_value for dimension in value.type.tensor_type.shape.dim)


def with_special_values(x: Array) -> Array:
    """`x` with a NaN, infinities, large and tiny values; most rows keep all of theirs."""
    x = x.copy()
    rows = x.reshape(-1, x.shape[-1])
    rows[0, 1], rows[1, 0], rows[2, 3] = np.nan, np.inf, -np.inf
    rows[3, :4] = [1e4, -1e4, 1e-30, 0.0]
    rows[4, :] = -np.inf
    return x


def run(written: Written, inputs: dict[str, Array], settings: dict[str, object]) -> Array:
    """The result of the model, compiled from what it is recognised as."""
    text = recognised(written.model())
    assert written.named_op in text
    result: Array = xyntra.compile(text, config=settings).run(inputs)["y"]
    return result


def onnxruntime_result(written: Written, inputs: dict[str, Array]) -> Array:
    """What onnxruntime computes, node by node."""
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    model = written.model()
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    session = onnxruntime.InferenceSession(model.SerializeToString(), options)
    result: Array = session.run(None, inputs)[0]
    return result


@pytest.mark.parametrize("written", PARAMETERS)
def test_against_float64(written: Written, settings: dict[str, object]) -> None:
    model = written.model("double")
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.DOUBLE
    inputs = feeds(model)
    wide = {name: array.astype(np.float64) for name, array in inputs.items()}
    wanted = ReferenceEvaluator(model).run(None, wide)[0]
    found = run(written, inputs, settings)
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("written", PARAMETERS)
def test_special_values(written: Written, settings: dict[str, object]) -> None:
    inputs = feeds(written.model())
    inputs["x"] = with_special_values(inputs["x"])
    wanted = onnxruntime_result(written, inputs)
    assert np.isnan(wanted).any()
    assert np.isfinite(wanted).any()
    found = run(written, inputs, settings)
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=2e-5)


def test_rows_that_are_masked_altogether_become_zero(settings: dict[str, object]) -> None:
    nodes = [
        ("Softmax", ["x"], ["s"]),
        ("IsNaN", ["s"], ["n"]),
        ("Where", ["n", "zero", "s"], ["y"]),
    ]
    model = make_model(nodes, {"x": [4, 8]}, ["y"], {"zero": np.array(0, np.float32)})
    text = recognised(model)
    assert text.count("linalg.generic") == 1
    x = feeds(model)["x"]
    x[1, :] = -np.inf
    x[2, 3] = -np.inf
    x[3, 0] = np.nan
    found = xyntra.compile(text, config=settings).run({"x": x})["y"]
    model.graph.output[0].type.tensor_type.elem_type = onnx.TensorProto.FLOAT
    wanted = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})[0]
    assert not found[[1, 3]].any()
    assert found[2].any()
    np.testing.assert_allclose(found, wanted, rtol=2e-5, atol=1e-7)
