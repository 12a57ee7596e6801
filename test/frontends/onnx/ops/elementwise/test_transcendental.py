# SPDX-License-Identifier: MIT OR Apache-2.0
"""Roots, exponentials, logarithms and trigonometry, against onnxruntime and numpy."""

from __future__ import annotations

import math

import numpy as np
import pytest
from harness import check_node, node_model, operators_model, run
from refusals import check_invalid

DOMAINS = {
    "Sqrt": (-1, 50), "Exp": (-100, 90), "Log": (-1, 100), "Erf": (-4, 4), "Sin": (-20, 20),
    "Cos": (-20, 20), "Tan": (-1.5, 1.5), "Asin": (-1.2, 1.2), "Acos": (-1.2, 1.2),
    "Atan": (-50, 50), "Sinh": (-10, 10), "Cosh": (-10, 10), "Tanh": (-10, 10),
    "Asinh": (-50, 50), "Acosh": (0.5, 50), "Atanh": (-1, 1),
}  # fmt: skip
EDGES = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0]


@pytest.mark.parametrize("op_type", sorted(DOMAINS))
def test_against_onnxruntime(op_type: str) -> None:
    low, high = DOMAINS[op_type]
    values = np.random.default_rng(1).uniform(low, high, 101)
    x = np.concatenate([values, EDGES]).astype(np.float32)
    check_node(op_type, {"x": x}, rtol=2e-6, atol=1e-6)
    check_node(op_type, {"x": np.zeros((2, 0), np.float32)})


@pytest.mark.parametrize("op_type", ["Sqrt", "Exp", "Log", "Sin", "Cos", "Tanh"])
def test_double(op_type: str) -> None:
    low, high = DOMAINS[op_type]
    values = np.random.default_rng(2).uniform(low, high, 51)
    check_node(op_type, {"x": np.concatenate([values, EDGES])}, rtol=1e-12, atol=1e-14)


def test_erf_of_doubles() -> None:
    x = np.linspace(-5, 5, 41)
    (found,) = run(node_model("Erf", {"x": x}), {"x": x})
    np.testing.assert_allclose(found, [math.erf(v) for v in x], rtol=1e-13)


@pytest.mark.parametrize(
    "dtype", [f"{sign}int{width}" for sign in ("", "u") for width in (8, 16, 32, 64)]
)
def test_erf_of_integers_is_cut(dtype: str) -> None:
    info = np.iinfo(dtype)
    near = np.arange(max(info.min, -9), 10, dtype=dtype)
    x = np.concatenate([near, np.array([info.min, info.max], dtype)])
    (found,) = run(node_model("Erf", {"x": x}, opset=12), {"x": x})
    np.testing.assert_array_equal(found, np.array([int(math.erf(v)) for v in x], dtype))


def test_half_rounds_once() -> None:
    x = np.random.default_rng(3).uniform(-1, 1, 33).astype(np.float16)
    wide = {"x": x.astype(np.float32)}
    found = run(operators_model(sorted(DOMAINS), {"x": x}), {"x": x})
    wanted = run(operators_model(sorted(DOMAINS), wide), wide)
    for mine, exact in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(mine, exact.astype(np.float16))


def test_integers_are_refused() -> None:
    check_invalid("Exp", {"x": np.ones(3, np.int32)}, "cannot be int32")
