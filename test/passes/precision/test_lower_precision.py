# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of f32 with 16 bits: numbers beside those of f32, files, refusals and reports."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper
from onnx_models import Node, make_model

import xyntra
from xyntra.compiler.artifacts import find_artifact
from xyntra.compiler.code_target import CodeTarget
from xyntra.compiler.driver import make_request
from xyntra.compiler.inputs.sizes import Sizes
from xyntra.compiler.inputs.source import open_source
from xyntra.compiler.sampling import observe
from xyntra.config import load_config
from xyntra.errors import ConfigError, InputError, ModelError, UnsupportedError
from xyntra.passes import pipelines
from xyntra.plan.plan import Buffer, Plan
from xyntra.plan.storage.stored import rounded

Array = np.ndarray[Any, Any]
Settings = dict[str, Any]
EPSILON = {"f16": 2.0**-11, "bf16": 2.0**-8}
"""Half an ulp of 1."""


def normal(seed: int, *shape: int, scale: float = 1.0) -> Array:
    return (np.random.default_rng(seed).standard_normal(shape) * scale).astype(np.float32)


def perceptron() -> onnx.ModelProto:
    """A norm, two layers with a GELU between them and a shortcut, and a softmax."""
    nodes: list[Node] = [
        helper.make_node("LayerNormalization", ["x", "scale", "shift"], ["n"], axis=-1),
        ("MatMul", ["n", "w1"], ["p"]),
        ("Add", ["p", "b1"], ["q"]),
        ("Gelu", ["q"], ["r"]),
        ("MatMul", ["r", "w2"], ["s"]),
        ("Add", ["s", "x"], ["t"]),
        ("Softmax", ["t"], ["y"]),
    ]
    weights = {
        "scale": 1 + normal(1, 96, scale=0.2), "shift": normal(2, 96, scale=0.1),
        "w1": normal(3, 96, 200, scale=0.1), "b1": normal(4, 200),
        "w2": normal(5, 200, 96, scale=0.1),
    }  # fmt: skip
    return make_model(nodes, {"x": [7, 96]}, ["y"], weights)


def convolutions() -> onnx.ModelProto:
    """Two convolutions, a batch norm, padding, poolings and a concatenation."""
    nodes: list[Node] = [
        helper.make_node("Conv", ["x", "w1"], ["a"], pads=[1, 1, 1, 1]),
        ("BatchNormalization", ["a", "gamma", "beta", "mean", "variance"], ["b"]),
        ("Relu", ["b"], ["c"]),
        helper.make_node("MaxPool", ["c"], ["d"], kernel_shape=[2, 2], strides=[2, 2]),
        helper.make_node("Conv", ["d", "w2"], ["e"], pads=[1, 1, 1, 1]),
        helper.make_node("Concat", ["d", "e"], ["f"], axis=1),
        helper.make_node("AveragePool", ["f"], ["g"], kernel_shape=[2, 2]),
        ("GlobalAveragePool", ["g"], ["y"]),
    ]
    weights = {
        "w1": normal(1, 24, 8, 3, 3, scale=0.2), "w2": normal(2, 16, 24, 3, 3, scale=0.1),
        "gamma": 1 + normal(3, 24, scale=0.1), "beta": normal(4, 24), "mean": normal(5, 24),
        "variance": np.abs(normal(6, 24)) + np.float32(0.5),
    }  # fmt: skip
    return make_model(nodes, {"x": [2, 8, 10, 10]}, ["y"], weights)


MODELS = {"perceptron": perceptron, "convolutions": convolutions}


def relative(found: Array, expected: Array) -> float:
    difference = np.square(found.astype(np.float64) - expected).mean()
    return float(np.sqrt(difference / np.square(expected.astype(np.float64)).mean()))


def as_for_gpus(precision: str, target: str, narrow_io: bool) -> tuple[str, ...]:
    """What gives tensors 16 bits, too, on any target."""
    return (f"lower-precision{{type={precision}}}",)


@pytest.mark.parametrize("precision", EPSILON)
@pytest.mark.parametrize("name", MODELS)
def test_numbers(
    name: str, precision: str, settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = MODELS[name]()
    exact = xyntra.compile(model, config=settings)
    x = normal(9, *exact.inputs[0].shape)
    expected = exact(x)
    stored = xyntra.compile(model, precision=precision, config=settings)
    assert stored.outputs[0].dtype == "float32"
    assert 0 < relative(stored(x), expected) < 1.5 * EPSILON[precision]
    monkeypatch.setattr(pipelines, "lowering", as_for_gpus)
    lowered = xyntra.compile(model, precision=precision, config={**settings, "cache": False})
    assert lowered.outputs[0].dtype == "float32"
    assert 0 < relative(lowered(x), expected) < 3 * EPSILON[precision]
    assert sum(kind == precision for _, kind, _ in lowered.plan.precisions) == 2
    assert f"precision: 2 products in {precision}" in lowered.explain()


def test_a_saved_model_is_small(settings: Settings, tmp_path: Path) -> None:
    model = perceptron()
    executable = xyntra.compile(model, precision="f16", config=settings)
    assert executable.weights["w1"].dtype == np.float16
    assert "2 weights rounded to float16" in executable.explain()
    x = normal(9, 7, 96)
    executable.save(tmp_path / "m.xyn")
    np.testing.assert_array_equal(xyntra.load(tmp_path / "m.xyn")(x), executable(x))
    executable.save(tmp_path / "apart.xyn", weights=False)
    apart = tmp_path / "apart.xyn"
    given = {each.name: onnx.numpy_helper.to_array(each) for each in model.graph.initializer}
    np.testing.assert_array_equal(xyntra.load(apart, weights=given)(x), executable(x))
    short = {**given, **executable.weights}
    np.testing.assert_array_equal(xyntra.load(apart, weights=short)(x), executable(x))
    with pytest.raises(InputError, match="does not fit"):
        xyntra.load(apart, weights={**given, "w1": given["w1"].astype(np.float64)})


@pytest.mark.parametrize(("value", "fits"), [(65504.0, True), (65520.0, False), (1e-7, False)])
def test_weights_stay_where_they_do_not_fit(value: float, fits: bool, settings: Settings) -> None:
    w = np.full((32, 32), value, np.float32)
    model = make_model([("MatMul", ["x", "w"], ["y"])], {"x": [1, 32]}, ["y"], {"w": w})
    executable = xyntra.compile(model, precision="f16", config=settings)
    assert executable.weights["w"].dtype == ("float16" if fits else "float32")
    assert ("weight w" in executable.explain()) != fits
    np.testing.assert_allclose(executable(np.ones((1, 32), np.float32)), 32 * value, rtol=1e-6)


def test_other_weights_that_overflow_are_refused() -> None:
    buffer = Buffer("parameter", 4, name="w", rounded_to="float16")
    plan = Plan((), (), (buffer,), ())
    assert rounded(plan, {"w": np.array([np.inf, 1], np.float32)})["w"].tolist() == [np.inf, 1]
    with pytest.raises(ModelError, match="'w' has values that float16 cannot hold"):
        rounded(plan, {"w": np.array([1e5, 1], np.float32)})


def test_models_of_other_types(settings: Settings) -> None:
    nodes: list[Node] = [("MatMul", ["x", "w"], ["y"])]
    w = np.eye(32)
    double = make_model(nodes, {"x": [1, 32]}, ["y"], {"w": w}, dtype=TensorProto.DOUBLE)
    with pytest.raises(UnsupportedError, match="'f16' is for models of f32"):
        xyntra.compile(double, precision="f16", config=settings)
    weights = {"w": w.astype(np.float16)}
    half = make_model(nodes, {"x": [1, 32]}, ["y"], weights, dtype=TensorProto.FLOAT16)
    executable = xyntra.compile(half, precision="bf16", config=settings)
    assert executable.outputs[0].dtype == "float16"
    assert executable.weights["w"].dtype == np.float16


def test_inputs_and_outputs_of_16_bits(settings: Settings) -> None:
    model = perceptron()
    exact, x = xyntra.compile(model, config=settings), normal(9, 7, 96)
    for fuse in (True, False):
        how = {**settings, "fuse": fuse}
        narrow = xyntra.compile(model, precision="f16", io="f16", config=how)
        assert [each.dtype for each in (*narrow.inputs, *narrow.outputs)] == ["float16"] * 2
        assert narrow.weights["w1"].dtype == np.float16
        found = narrow(x.astype(np.float16))
        assert 0 < relative(found, exact(x)) < 3 * EPSILON["f16"]
    with pytest.raises(ConfigError, match="io='f16' does not fit precision='bf16'"):
        xyntra.compile(model, precision="bf16", io="f16", config=settings)


def large() -> onnx.ModelProto:
    """Two products, of which the first one exceeds the range of f16 for inputs around 1000."""
    weights = {"w": normal(1, 64, 64, scale=100.0), "v": normal(2, 64, 32, scale=0.001)}
    nodes: list[Node] = [
        helper.make_node("MatMul", ["x", "w"], ["p"], name="first"),
        helper.make_node("Relu", ["p"], ["q"], name="relu"),
        helper.make_node("MatMul", ["q", "v"], ["r"], name="second"),
        helper.make_node("Tanh", ["r"], ["y"], name="tanh"),
    ]
    return make_model(nodes, {"x": [4, 64]}, ["y"], weights)


def test_samples_find_what_overflows(settings: Settings) -> None:
    given = {**settings, "target": "cuda:sm_90a", "precision": "f16"}
    config, target = load_config(given), CodeTarget.of("cuda:sm_90a")
    source = open_source(large())
    request = make_request(source, Sizes(), config, "artifact", target)
    x = normal(3, 4, 64)
    decided = {}
    for scale in (1.0, 1000.0):
        seen = observe(source, request, config, "cuda", [x * scale, {"x": x}], "f16")
        product = x.astype(float) @ normal(1, 64, 64, scale=100.0) * scale
        assert 1 <= max(seen.peaks) / np.abs(product).max() < 2
        plan = find_artifact(replace(request, peaks=seen.peaks), config, target).plan
        decided[scale] = {nodes: kind for nodes, kind, _ in plan.precisions}
        if scale == 1.0:
            assert 0 < seen.errors["first"] < EPSILON["f16"]
    assert decided[1.0] == {"first": "f16", "second": "f16"}
    assert decided[1000.0] == {"first": "f16", "relu": "f32", "second": "f32"}
    with pytest.raises(InputError, match="shape") as caught:
        observe(source, request, config, "cuda", [x, x[:2]])
    assert caught.value.place == "sample 1"
    executable = xyntra.compile(large(), precision="f16", samples=[x], config=settings)
    assert executable(x).shape == (4, 32)
