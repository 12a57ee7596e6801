# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that the checker accepts every region of the engine; the two know other rules."""

from __future__ import annotations

import numpy as np
import onnxruntime
import pytest
from onnx_models import make_model
from random_graphs import compile_random

import xyntra


@pytest.mark.parametrize("target", ["cpu", "cuda"])
def test_regions_of_random_graphs_are_legal(target: str) -> None:
    for seed in range(60):
        compile_random(seed, target)


@pytest.mark.parametrize("shape", [(7, 5, 3), (512, 64, 5), (2048, 256, 2)])
def test_sums_stored_in_another_order_share_a_kernel(
    shape: tuple[int, int, int], settings: dict[str, object]
) -> None:
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    nodes = [
        ("ReduceSum", ["x", "axis"], ["s"]),
        ("Squeeze", ["s", "axis"], ["m"]),
        ("Transpose", ["m"], ["t"]),
        ("Exp", ["t"], ["e"]),
        ("Softmax", ["e"], ["y"]),
    ]
    model = make_model(nodes, {"x": shape}, ["y"], {"axis": np.array([2])})
    exe = xyntra.compile(model, config=settings)
    (wanted,) = onnxruntime.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    np.testing.assert_allclose(exe.run({"x": x})["y"], wanted, rtol=1e-4, atol=1e-6)
    assert xyntra.compile(model, target="cuda:sm_90a", config=settings).kernels
