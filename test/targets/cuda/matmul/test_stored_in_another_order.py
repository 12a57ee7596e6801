# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums and products stored in another order than that of their loops, with what reads the rows."""

from __future__ import annotations

import numpy as np
import pytest
from emulator import run_artifact
from onnx.reference import ReferenceEvaluator
from onnx_models import make_model

import xyntra


@pytest.mark.parametrize("shape", [(7, 5, 3), (64, 2, 32)])
def test_sums(shape: tuple[int, int, int]) -> None:
    nodes = [
        ("ReduceSum", ["x", "axis"], ["s"]),
        ("Squeeze", ["s", "axis"], ["m"]),
        ("Transpose", ["m"], ["t"]),
        ("Softmax", ["t"], ["y"]),
    ]
    model = make_model(nodes, {"x": shape}, ["y"], {"axis": np.array([2])})
    x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    assert len(artifact.plan.steps) == 1
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_allclose(run_artifact(artifact, [x], {})[0], wanted, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("sizes", [(33, 16, 20), (64, 32, 48)])
def test_products(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    random = np.random.default_rng(2)
    w, b = (random.standard_normal(shape).astype(np.float32) for shape in ((k, n), (n,)))
    nodes = [
        ("MatMul", ["x", "w"], ["p"]),
        ("Add", ["p", "b"], ["s"]),
        ("Transpose", ["s"], ["t"]),
        ("Add", ["t", "z"], ["a"]),
        ("Softmax", ["a"], ["y"]),
    ]
    model = make_model(nodes, {"x": [m, k], "z": [n, m]}, ["y"], {"w": w, "b": b})
    x, z = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (n, m)))
    artifact = xyntra.compile(model, target="cuda:sm_90a").artifact
    assert len(artifact.plan.steps) == 1
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x, "z": z})
    found = run_artifact(artifact, [x, z], {"w": w, "b": b})[0]
    np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-5)
