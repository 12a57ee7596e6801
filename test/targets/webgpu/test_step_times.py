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
    begun = []

    def run(count: int) -> list[int]:
        begun.append(count)
        return [2_000_000, 3_000_000] * (count - 1) + [3_000_000, 1_000_000]

    assert repeated(run, [4_000_000, 4_000_000], 0.299) == [2_000_000, 1_000_000]
    assert set(begun) == {2}
    assert repeated(lambda _: pytest.fail("it was long"), [4, 4], 1.0) == [4, 4]


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
