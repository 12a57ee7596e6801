# SPDX-License-Identifier: MIT OR Apache-2.0
"""Activation functions and softmax against onnxruntime, with NaN, infinities and several dtypes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from arrays import integers, normal, tolerance
from harness import check_node, node_model, run
from refusals import check_invalid

FUNCTIONS: list[tuple[str, dict[str, Any]]] = [
    ("LeakyRelu", {}), ("LeakyRelu", {"alpha": 0.4}), ("Elu", {}), ("Elu", {"alpha": 0.4}),
    ("Selu", {}), ("Selu", {"alpha": 1.2, "gamma": 0.9}), ("HardSigmoid", {}),
    ("HardSigmoid", {"alpha": 0.3, "beta": 0.1}), ("HardSwish", {}), ("Softplus", {}),
    ("Softsign", {}), ("Mish", {}), ("ThresholdedRelu", {}), ("ThresholdedRelu", {"alpha": 0.4}),
    ("Shrink", {}), ("Shrink", {"lambd": 1.5, "bias": 1.5}), ("Gelu", {}),
    ("Gelu", {"approximate": "tanh"}), ("Swish", {"opset": 24}),
    ("Swish", {"opset": 24, "alpha": 0.5}),
]  # fmt: skip


def values(dtype: str) -> np.ndarray:
    x = 4 * normal(3, 7)
    x[0, :4] = [np.inf, -np.inf, np.nan, 0]
    x[1, :4] = [60, -60, 1e-4, -1e-4]
    return x.astype(dtype)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("op", "options"), FUNCTIONS)
def test_functions(op: str, options: dict[str, Any], dtype: str) -> None:
    check_node(op, {"x": values(dtype)}, **tolerance(dtype), **options)


def test_sigmoid_of_float16_keeps_what_exp_would_lose() -> None:
    x = np.linspace(-18, 18, 73).astype(np.float16)
    expected = 1 / (1 + np.exp(-x.astype(np.float64)))
    (found,) = check_node("Sigmoid", {"x": x}, **tolerance("float16"))
    np.testing.assert_allclose(found, expected, rtol=1e-3, atol=2**-24)


@pytest.mark.parametrize(
    ("op", "attributes"),
    [
        ("LeakyRelu", {"alpha": 0.01}),
        ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
        ("Selu", {"alpha": 1.67326319217681884765625, "gamma": 1.05070102214813232421875}),
    ],
)
def test_defaults_equal_the_same_attributes_when_stated(
    op: str, attributes: dict[str, float]
) -> None:
    """Attributes have 32 bits: with inputs of 64, a default of 64 would give other results."""
    x = normal(3, 7).astype(np.float64)
    (default,) = run(node_model(op, {"x": x}), {"x": x})
    (stated,) = run(node_model(op, {"x": x}, **attributes), {"x": x})
    np.testing.assert_array_equal(default, stated)


def test_old_clip_of_float64_keeps_what_float32_does_not_hold() -> None:
    x = np.array([-1e300, -1.0, 1e300])
    (found,) = run(node_model("Clip", {"x": x}, opset=10, min=0.0), {"x": x})
    np.testing.assert_array_equal(found, [0, 0, 1e300])


@pytest.mark.parametrize("alpha", [1.0, 0.4, 2.0])
def test_celu(alpha: float) -> None:
    check_node("Celu", {"x": values("float32")}, alpha=alpha)


@pytest.mark.parametrize("slope", [(7,), (3, 1), (1,), (3, 7)])
def test_prelu_broadcasts_its_slope(slope: tuple[int, ...]) -> None:
    check_node("PRelu", {"x": values("float32"), "slope": normal(*slope)})


def test_shrink_of_integers() -> None:
    x = integers(-9, 9, 4, 5, dtype="int32")
    check_node("Shrink", {"x": x}, lambd=2.5, bias=1.5)


@pytest.mark.parametrize("dtype", ["float32", "float16"])
@pytest.mark.parametrize(("low", "high"), [(-1, 2), (3, 2), (-1, None), (None, 1), (None, None)])
def test_clip(low: float | None, high: float | None, dtype: str) -> None:
    bounds = {"low": low, "high": high}
    given = {name: np.array(value, dtype) for name, value in bounds.items() if value is not None}
    names = ["x", *(name if bounds[name] is not None else "" for name in bounds)]
    check_node("Clip", {"x": values(dtype), **given}, names=names)


def test_clip_with_constant_bounds() -> None:
    bounds = {"low": np.float32(-1)[...], "high": np.float32(6)[...]}
    check_node("Clip", {"x": values("float32")}, constants=bounds)


@pytest.mark.parametrize("options", [{"min": -1.0, "max": 1.0}, {"min": -1.0}, {"max": 0.5}, {}])
def test_clip_by_attributes(options: dict[str, float]) -> None:
    check_node("Clip", {"x": values("float32")}, opset=10, **options)


def test_clip_of_integers() -> None:
    inputs = {"x": integers(-9, 9, 4, 5), "low": np.int64(-2)[...], "high": np.int64(4)[...]}
    check_node("Clip", inputs)
    check_node("Clip", {"x": integers(0, 9, 4, 5, dtype="uint8"), "low": np.uint8(3)[...]})


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("opset", [11, 13])
def test_softmax(op: str, axis: int, opset: int) -> None:
    check_node(op, {"x": 5 * normal(2, 3, 4)}, axis=axis, opset=opset)


@pytest.mark.parametrize("op", ["Softmax", "LogSoftmax"])
def test_softmax_without_an_axis(op: str) -> None:
    check_node(op, {"x": normal(2, 3, 4)}, opset=11)
    check_node(op, {"x": normal(2, 3, 4)}, opset=13)


@pytest.mark.parametrize("dtype", ["float16", "float64", "bfloat16"])
def test_dtypes_of_softmax(dtype: str) -> None:
    check_node("Softmax", {"x": normal(3, 5, dtype=dtype)}, **tolerance(dtype))


def test_softmax_of_large_and_infinite_values() -> None:
    x = np.array([[1e30, 1e30, 0], [-np.inf, 0, 1], [np.nan, 0, 1]], np.float32)
    check_node("Softmax", {"x": x})


@pytest.mark.parametrize(
    ("op", "inputs", "options", "message"),
    [
        ("Softmax", {"x": normal(2, 3)}, {"axis": 2}, "axis 2"),
        ("PRelu", {"x": normal(2, 3), "slope": normal(4, 2, 3)}, {}, "slope"),
        ("Gelu", {"x": normal(2, 3)}, {"approximate": "erf"}, "'approximate'"),
        ("Clip", {"x": normal(2, 3), "low": normal(3)}, {}, "bound"),
        ("SwiGLU", {"a": normal(2, 3), "b": normal(2, 1)}, {"opset": 28}, "differ"),
    ],
)
def test_invalid(
    op: str, inputs: dict[str, np.ndarray], options: dict[str, Any], message: str
) -> None:
    check_invalid(op, inputs, message, **options)
