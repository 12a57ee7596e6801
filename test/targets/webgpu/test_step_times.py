# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times of kernels on the GPU's clock."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from harness import graph_model

import xyntra
from xyntra.targets.webgpu import step_times
from xyntra.targets.webgpu.step_times import repeated


def test_short_steps_are_repeated_and_the_shortest_time_counts() -> None:
    times = iter([[5, 1], [2, 3], *[[9, 9]] * 200])
    assert repeated(lambda: next(times), [4, 4], 0.0) == [2, 1]
    assert repeated(lambda: pytest.fail("it was long"), [4, 4], 1.0) == [4, 4]


@pytest.mark.usefixtures("has_gpu")
def test_every_kernel_is_timed_in_as_many_query_sets_as_are_needed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(step_times, "_STEPS", 2)
    x = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    nodes = [
        onnx.helper.make_node("MatMul", [each, "x"], [made])
        for each, made in (("x", "a"), ("a", "b"), ("b", "y"))
    ]
    model = graph_model(nodes, {"x": x}, ["y"])
    executable = xyntra.compile(model, target="webgpu", config={"isolate": False})
    times = executable.time_kernels({"x": x})
    assert len(times) == len(executable.kernels) == 3
    assert min(times) > 0
