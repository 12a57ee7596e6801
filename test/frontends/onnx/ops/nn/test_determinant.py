# SPDX-License-Identifier: MIT OR Apache-2.0
"""Determinants, against onnxruntime and numpy."""

from __future__ import annotations

import numpy as np
import pytest
from harness import check_node, node_model, run, run_compiled
from refusals import check_invalid


@pytest.mark.parametrize("shape", [(1, 1), (2, 2), (5, 5), (2, 3, 4, 4), (0, 3, 3)])
def test_determinants(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    (found,) = run(node_model("Det", {"x": x}, opset=22), {"x": x})
    np.testing.assert_allclose(found, np.linalg.det(x.astype(np.float64)), rtol=1e-4, atol=1e-5)


def test_pivots_and_singular_matrices() -> None:
    x = np.array(
        [[[0, 1], [1, 0]], [[1, 2], [2, 4]], [[0, 0], [0, 0]], [[0, 2], [3, 4]]], np.float32
    )
    check_node("Det", {"x": x}, opset=11)


def test_half() -> None:
    x = np.diag(np.array([300, 300, 0.001], np.float16))
    (found,) = run(node_model("Det", {"x": x}, opset=22), {"x": x})
    np.testing.assert_allclose(found.astype(np.float64), 90, rtol=2e-3)


def test_refusals() -> None:
    check_invalid("Det", {"x": np.ones((2, 3), np.float32)}, "square")


@pytest.mark.parametrize("shape", [(1, 1), (1, 1, 1), (3, 1, 1), (0, 1, 1), (2, 0, 0)])
def test_small_matrices_in_fused_kernels(shape: tuple[int, ...]) -> None:
    x = np.random.default_rng(0).standard_normal(shape)
    (found,) = run_compiled(node_model("Det", {"x": x}), {"x": x})
    np.testing.assert_allclose(found, np.linalg.det(x), rtol=1e-15)
