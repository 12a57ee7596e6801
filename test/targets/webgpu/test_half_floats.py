# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models of f16 compute the same where an adapter has f16 and where it has not."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from harness import graph_model, run_compiled

import xyntra
from xyntra.targets.webgpu.adapter import open_device
from xyntra.targets.webgpu.backend import BACKEND

TARGET = "webgpu:webgpu-f16"
RNG = np.random.default_rng(5)
HARD = [np.inf, -np.inf, np.nan, 6e-8, 65504.0, -0.0, 1.0, 3e-5]


def half(*shape: int) -> np.ndarray:
    return RNG.standard_normal(shape).astype(np.float16)


def node(op: str, inputs: str, output: str, **attributes: Any) -> onnx.NodeProto:
    return onnx.helper.make_node(op, inputs.split(), [output], **attributes)


def elementwise() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    feeds = {"x": half(3, 67), "y": half(3, 67)}
    feeds["x"][0, :8], feeds["y"][0, :8] = HARD, HARD[::-1]
    nodes = [node(op, "x y", op) for op in ("Add", "Mul", "Div")]
    return graph_model(nodes, feeds, ["Add", "Mul", "Div"]), feeds


def network() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    feeds = {"x": half(1, 3, 9, 11)}
    weights = {"k": half(8, 3, 3, 3), "w": half(11, 5)}
    nodes = [
        node("MaxPool", "x", "p", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        node("Conv", "p k", "c", pads=[1, 1, 1, 1]),
        node("MatMul", "c w", "m"),
        node("Softmax", "m", "y"),
    ]
    return graph_model(nodes, feeds, ["y"], weights), feeds


def many_buffers() -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    feeds = {f"x{number}": half(5, 7) for number in range(10)}
    return graph_model([node("Sum", " ".join(feeds), "y")], feeds, ["y"]), feeds


@pytest.mark.usefixtures("has_gpu")
@pytest.mark.parametrize("make", [elementwise, network, many_buffers])
def test_results_have_the_bits_of_emulated_f16(make: Any) -> None:
    if "shader-f16" not in open_device().features:
        pytest.skip("the adapter has no f16")
    model, feeds = make()
    plain, found = (run_compiled(model, feeds, target=each) for each in ("webgpu", TARGET))
    for mine, theirs in zip(found, plain, strict=True):
        np.testing.assert_array_equal(mine, theirs)


@pytest.mark.usefixtures("has_naga")
@pytest.mark.parametrize(
    ("make", "target", "is_enabled"),
    [(network, "webgpu", False), (network, TARGET, True), (many_buffers, TARGET, False)],
)
def test_f16_is_asked_for_where_memory_can_have_it(
    make: Any, target: str, is_enabled: bool
) -> None:
    model, _ = make()
    code = xyntra.compile(model, target=target).artifact.objects
    shaders = "".join(BACKEND.assembly_files(code).values())
    assert ("enable f16;" in shaders) == is_enabled
