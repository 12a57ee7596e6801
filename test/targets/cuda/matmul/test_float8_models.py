# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models with products in floats of 8 bits, in the emulator: numbers, rows, errors, the report."""

from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest
from emulator import run_artifact, run_sized
from onnx import ModelProto, parser

import xyntra
from xyntra.errors import ConfigError, UnsupportedError
from xyntra.executable import Executable

Array = np.ndarray
TEXT = """<ir_version: 9, opset_import: ["": 20]>
m ({T}[2, 5, 80] x, {T}[80, 144] v, {T}[40, 144] w, {T}[144] b) => ({T}[2, 5, 40] y) {{
  h = MatMul (x, v)
  i = Add (h, b)
  j = Relu (i)
  t = Transpose <perm = [1, 0]> (w)
  y = MatMul (j, t)
}}"""
LEFT = """<ir_version: 9, opset_import: ["": 20]>
m (float[72, 24] x, float[32, 72] w) => (float[32, 24] y) { y = MatMul (w, x) }"""
CONVOLUTION = """<ir_version: 9, opset_import: ["": 20]>
m (float[1, 16, 8, 8] x, float[32, 16, 3, 3] w) => (float[1, 32, 6, 6] y) { y = Conv (x, w) }"""
ATTENDED = """<ir_version: 9, opset_import: ["": 20]>
m (float[32, 64] x, float[64, 64] w) => (float[32, 32] y) {
  q = MatMul (x, w)
  t = Transpose <perm = [1, 0]> (x)
  y = MatMul (q, t)
}"""


def model(text: str, **weights: Array) -> ModelProto:
    """Return the model of `text`, whose inputs of these names are weights."""
    from onnx import numpy_helper

    found = parser.parse_model(text)
    inputs = [each for each in found.graph.input if each.name not in weights]
    del found.graph.input[:]
    found.graph.input.extend(inputs)
    found.graph.initializer.extend(numpy_helper.from_array(w, n) for n, w in weights.items())
    return found


def normal(seed: int, *shape: int, kind: type = np.float32) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(kind)


def run(exe: Executable, x: Array, weights: dict[str, Array]) -> Array:
    """Return what the emulator computes, of weights as a load rounds them."""
    rounded = {each.name: each.rounded_to for each in exe.plan.buffers if each.rounded_to}
    given = {name: each.astype(rounded.get(name, each.dtype)) for name, each in weights.items()}
    (found,) = run_artifact(exe.artifact, [x], given)
    return found


def narrow(x: Array, axis: int) -> Array:
    """What is left of numbers that share scales along `axis`."""
    peak = np.abs(x).max(axis, keepdims=True)
    scale = np.where(peak == 0, 1, peak / 448)
    return (x / scale).astype(ml_dtypes.float8_e4m3fn).astype(np.float64) * scale


def half(x: Array) -> Array:
    """Numbers rounded to f16."""
    return x.astype(np.float16).astype(np.float64)


def distance(found: Array, wanted: Array) -> float:
    """The root mean square of what differs, relative to that of what is wanted."""
    return float(np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2)))


@pytest.mark.parametrize(
    ("kind", "architecture", "code"),
    [
        ("float", "sm_90a", "k32.f32.e4m3.e4m3"),
        ("float", "sm_89", "f32.e4m3.e4m3.f32"),
        ("float16", "sm_90a", "k32.f32.e4m3.e4m3"),
    ],
)
def test_numbers(kind, architecture, code):
    """A row of zeros, NaN and an infinity are rows of their own; others do not see them."""
    dtype = {"float": np.float32, "float16": np.float16}[kind]
    weights = {
        "v": normal(1, 80, 144, kind=dtype) / dtype(8),
        "w": normal(2, 40, 144, kind=dtype) / dtype(8),
        "b": normal(3, 144, kind=dtype),
    }
    weights["v"][:, 7] = 0
    x = normal(4, 2, 5, 80, kind=dtype)
    x[0, 0], x[0, 2, 3], x[1, 1, 5] = 0, np.nan, np.inf
    exe = xyntra.compile(
        model(TEXT.format(T=kind), **weights), target=f"cuda:{architecture}", precision="fp8"
    )
    assert "2 products in fp8 by rows" in exe.explain()
    assert code.encode() in b"".join(bytes(each) for each in exe.artifact.objects.values())
    found = run(exe, x, weights)
    assert found.dtype == dtype
    assert np.isnan(found[0, 2]).all()
    assert np.isnan(found[1, 1]).all()
    rest = np.ones((2, 5), bool)
    rest[0, 2] = rest[1, 1] = False
    found, wide = found[rest].astype(np.float64), x[rest].astype(np.float64)
    v, w, b = (each.astype(np.float64) for each in weights.values())
    exact = np.maximum(wide @ v + b, 0) @ w.T
    hidden = np.maximum(narrow(half(wide), 1) @ narrow(half(v), 0) + b, 0)
    rounded = narrow(half(hidden), 1) @ narrow(half(w), 1).T
    assert distance(found, rounded) < {"float": 1e-6, "float16": 5e-3}[kind]
    assert 0.01 < distance(found, exact) < 0.05


def test_weights_may_be_the_left_factor():
    w, x = normal(1, 32, 72), normal(2, 72, 24)
    exe = xyntra.compile(model(LEFT, w=w), target="cuda:sm_90a", precision="fp8")
    found = run(exe, x, {"w": w})
    wanted = narrow(half(w), 1) @ narrow(half(x), 0)
    assert distance(found.astype(np.float64), wanted) < 1e-6


@pytest.mark.parametrize(
    ("text", "shape", "kinds"),
    [(CONVOLUTION, (32, 16, 3, 3), ["f16"]), (ATTENDED, (64, 64), ["fp8 by rows", "f16"])],
)
def test_other_products_are_of_16_bits(text, shape, kinds):
    exe = xyntra.compile(model(text, w=normal(1, *shape)), target="cuda:sm_90a", precision="fp8")
    assert [kind for _, kind, _ in exe.plan.precisions] == kinds


def test_refusals():
    given = model(LEFT, w=normal(1, 32, 72))
    with pytest.raises(UnsupportedError, match="sm_80 does not multiply floats") as caught:
        xyntra.compile(given, target="cuda:sm_80", precision="fp8")
    assert "sm_89, sm_90, sm_90a" in str(caught.value.cause)
    with pytest.raises(UnsupportedError, match="'fp8' is for NVIDIA GPUs"):
        xyntra.compile(given, target="cpu", precision="fp8")
    with pytest.raises(ConfigError, match="io='bf16' does not fit"):
        xyntra.compile(given, target="cuda:sm_90a", precision="fp8", io="bf16")
    half = xyntra.compile(given, target="cuda:sm_90a", precision="fp8", io="f16")
    assert [each.dtype for each in (*half.inputs, *half.outputs)] == ["float16", "float16"]


MERGED = """<ir_version: 9, opset_import: ["": 20]>
m (float[70, 64] x, float[64, 64] v, float[64, 64] w, float[64] b)
  => (float[70, 64] y, float[70, 64] z) {
  p = MatMul (x, v)
  y = Add (p, b)
  q = MatMul (x, w)
  z = Add (q, b)
}"""


def test_products_of_one_factor_share_its_rows_and_a_launch():
    weights = {"v": normal(1, 64, 64), "w": normal(2, 64, 64), "b": normal(3, 64)}
    x = normal(4, 70, 64)
    exe = xyntra.compile(model(MERGED, **weights), target="cuda:sm_90a", precision="fp8")
    assert len(exe.kernels) == 2
    found = run_artifact(
        exe.artifact, [x], {n: w if n == "b" else w.astype(np.float16) for n, w in weights.items()}
    )
    for each, name in zip(found, "vw", strict=True):
        wanted = narrow(half(x), 1) @ narrow(half(weights[name]), 0) + weights["b"]
        assert distance(each, wanted) < 1e-6


FREE = """<ir_version: 9, opset_import: ["": 20]>
m (float[n, 64] x, float[64, 64] w) => (float[n, 64] y) { y = MatMul (x, w) }"""


def test_rows_may_be_free():
    w = normal(1, 64, 64)
    exe = xyntra.compile(
        model(FREE, w=w), dims={"n": range(1, 257)}, target="cuda:sm_90a", precision="fp8"
    )
    for n in (1, 5, 200):
        x = normal(n, n, 64)
        (found,) = run_sized(exe.artifact, [x], {"w": w.astype(np.float16)}, n=n)
        assert distance(found, narrow(half(x), 1) @ narrow(half(w), 0)) < 1e-6


SAMPLED = """<ir_version: 9, opset_import: ["": 20]>
m (float[40, 64] x, float[64, 128] v, float[128, 64] w, float[128] b) => (float[40, 64] y) {
  h = MatMul (x, v)
  i = Add (h, b)
  j = Relu (i)
  y = MatMul (j, w)
}"""


def test_samples_give_one_scale_for_all_rows():
    """It is applied where the factor is made; what is far larger than in samples is limited."""
    weights = {"v": normal(1, 64, 128) / 8, "w": normal(2, 128, 64) / 8, "b": normal(3, 128)}
    x = normal(7, 40, 64)
    exe = xyntra.compile(
        model(SAMPLED, **weights), target="cuda:sm_90a", precision="fp8", samples=[{"x": x}]
    )
    assert [kind for _, kind, _ in exe.plan.precisions] == ["fp8 by rows", "fp8"]
    assert len(exe.kernels) == 3
    assert "launches a call: 3" in exe.explain()
    rest = np.arange(10, 40)
    x[0, 4], x[1, 6], x[2], x[rest[0]] = np.nan, np.inf, 0, 9 * x[rest[0]]
    found = run(exe, x, weights)
    assert np.isnan(found[:2]).all()
    hidden = np.maximum(narrow(half(x[2:]), 1) @ narrow(half(weights["v"]), 0) + weights["b"], 0)
    scale = 8 / 256  # the largest magnitude in samples is between 4 and 8
    assert hidden.max() > 448 * scale
    limited = np.clip(half(hidden) / scale, -448, 448).astype(ml_dtypes.float8_e4m3fn)
    wanted = limited.astype(np.float64) * scale @ narrow(half(weights["w"]), 0)
    assert distance(found[2:], wanted) < 1e-6
