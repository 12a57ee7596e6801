# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions in tiles, which read zeros around their image where it is not padded."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness import compare, graph_model, reference

import xyntra

pytestmark = pytest.mark.usefixtures("has_gpu")


def _convolution(
    x: np.ndarray[Any, Any], channels: int, window: tuple[int, int], **given: Any
) -> tuple[str, ...]:
    """Compare a convolution and what follows it; return the schedules of its launches."""
    rng = np.random.default_rng(1)
    weights = {
        "w": rng.standard_normal((channels, x.shape[1], *window), np.float32) / 8,
        "b": rng.standard_normal(channels, np.float32),
    }
    nodes = [
        onnx.helper.make_node("Conv", ["x", "w", "b"], ["c"], **given),
        onnx.helper.make_node("Relu", ["c"], ["y"]),
    ]
    model = graph_model(nodes, {"x": x}, ["y"], weights)
    executable = xyntra.compile(model, target="webgpu", config={"isolate": False})
    results = list(executable.run({"x": x}).values())
    compare(results, reference(model, {"x": x}), 1e-4, 1e-4)
    return tuple(each for kernel in executable.kernels for each in kernel.schedules)


def test_images_are_read_around_their_padding() -> None:
    x = np.random.default_rng(0).standard_normal((1, 64, 7, 6), np.float32)
    schedules = _convolution(x, 32, (3, 3), pads=[2, 1, 1, 2], dilations=[2, 2])
    assert [each.split()[0] for each in schedules] == ["simt"]


def test_values_beside_the_padding_are_none_of_its_zeros() -> None:
    x = np.full((1, 64, 5, 5), np.inf, np.float32)
    x[:, :, 2, 2] = 1.0
    _convolution(x, 32, (3, 3), pads=[2, 2, 2, 2], dilations=[2, 2])
