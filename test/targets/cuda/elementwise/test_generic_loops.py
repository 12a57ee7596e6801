# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels of every kind as plain loops, one thread an element, run without a GPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from emulator import run_artifact
from onnx import helper
from onnx_models import make_model

import xyntra
from xyntra.passes.lower.gpu import to_gpu

SETTINGS: dict[str, object] = {"isolate": False, "jobs": 1, "cache": False, "strict": False}


def _fails(*_: object, **__: object) -> None:
    raise KeyError("no emitter for that")


def _run(nodes: list[Any], shapes: dict[str, tuple[int, ...]], **arrays: Any) -> np.ndarray:
    model = make_model(nodes, shapes, ["y"])
    exe = xyntra.compile(model, target="cuda:sm_90a", config=SETTINGS)
    assert "is computed by plain loops" in exe.explain()
    found: np.ndarray = run_artifact(exe.artifact, list(arrays.values()), {})[0]
    return found


@pytest.fixture(autouse=True)
def _emitters_fail(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(to_gpu, "emit_stage", _fails)


def _normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(3).standard_normal(shape, dtype=np.float32)


def test_a_product_with_what_follows_it() -> None:
    a, b = _normal(17, 9), _normal(9, 21)
    nodes = [("MatMul", ["a", "b"], ["p"]), ("Relu", ["p"], ["y"])]
    found = _run(nodes, {"a": a.shape, "b": b.shape}, a=a, b=b)
    expected = np.maximum(a.astype(float) @ b.astype(float), 0)
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)


def test_softmax_of_rows_that_hold_infinities() -> None:
    x = _normal(5, 33)
    x[1, 4], x[2, 5] = np.inf, -np.inf
    found = _run([("Softmax", ["x"], ["y"])], {"x": x.shape}, x=x)
    with np.errstate(invalid="ignore"):
        powers = np.exp(x.astype(float) - x.max(1, keepdims=True).astype(float))
    np.testing.assert_allclose(found, powers / powers.sum(1, keepdims=True), rtol=1e-5)


def test_attention() -> None:
    q, k, v = (_normal(1, 2, 7, 8) + shift for shift in (0, 0.5, 1))
    nodes = [("Attention", ["q", "k", "v"], ["y"])]
    model = make_model(nodes, {"q": q.shape, "k": k.shape, "v": v.shape}, ["y"], opset=23)
    exe = xyntra.compile(model, target="cuda:sm_90a", config=SETTINGS)
    assert [kernel.kind for kernel in exe.kernels] == ["attention"]
    found = run_artifact(exe.artifact, [q, k, v], {})[0]
    scores = np.einsum("bhsd,bhtd->bhst", q.astype(float), k.astype(float)) / np.sqrt(8)
    powers = np.exp(scores - scores.max(-1, keepdims=True))
    weights = powers / powers.sum(-1, keepdims=True)
    expected = np.einsum("bhst,bhtd->bhsd", weights, v.astype(float))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_product_less_itself_is_zero(dtype: type) -> None:
    """Whichever product is fused, a multiply-add would give the rounding error of the other."""
    a, b = (_normal(17, 9).astype(dtype) for _ in range(2))
    nodes = [("Mul", ["a", "b"], ["p"]), ("Sub", ["p", "p"], ["d"]), ("Relu", ["d"], ["y"])]
    model = make_model(nodes, {"a": a.shape, "b": b.shape}, ["y"])
    for each in model.graph.input:
        each.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    exe = xyntra.compile(model, target="cuda:sm_90a", config=SETTINGS)
    found = run_artifact(exe.artifact, [a, b * b], {})[0]
    np.testing.assert_array_equal(found, np.zeros((17, 9)))


@pytest.mark.parametrize("target", ["cpu", "cuda:sm_90a"])
@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_a_product_and_its_magnitude_are_rounded_alike(dtype: type, target: str) -> None:
    a, b = (_normal(17, 9).astype(dtype) for _ in range(2))
    nodes = [("Mul", ["a", "b"], ["p"]), ("Abs", ["p"], ["m"]), ("Sub", ["m", "p"], ["y"])]
    model = make_model(nodes, {"a": a.shape, "b": b.shape}, ["y"])
    for each in model.graph.input:
        each.type.tensor_type.elem_type = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    exe = xyntra.compile(model, target=target, config=SETTINGS)
    found = run_artifact(exe.artifact, [a, b], {})[0] if target != "cpu" else exe(a, b)
    product = a * b
    np.testing.assert_array_equal(found, np.abs(product) - product)


def test_a_concatenation_of_no_rows() -> None:
    a, b = _normal(0, 5), _normal(3, 5)
    nodes = [helper.make_node("Concat", ["a", "b"], ["c"], axis=0), ("Exp", ["c"], ["y"])]
    found = _run(nodes, {"a": a.shape, "b": b.shape}, a=a, b=b)
    np.testing.assert_allclose(found, np.exp(b.astype(float)), rtol=1e-5)


def test_the_attribute_alone_chooses_plain_loops() -> None:
    """It can be written by hand, into the text of a kernel function."""
    text = """
    func.func private @row_k(%x: tensor<4x8xf32>) -> tensor<4x8xf32> attributes {
        xyntra.kernel = #xyntra.kernel<{kind = "row"}>, xyntra.generic_loops} {
      %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }
    func.func @main(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
      %0 = call @row_k(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
      return %0 : tensor<4x8xf32>
    }"""
    exe = xyntra.compile(text, target="cuda:sm_90a", config=SETTINGS | {"strict": True})
    x = _normal(4, 8)
    found = run_artifact(exe.artifact, [x], {})[0]
    np.testing.assert_allclose(found.sum(1), np.ones(4), rtol=1e-5)
