# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors that are larger than a binding are bound in parts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.passes.lower.webgpu import pipeline
from xyntra.passes.lower.webgpu.split_buffers import SplitBuffers
from xyntra.targets.webgpu.bound_plan import bind_plan, images_of
from xyntra.targets.webgpu.web.description import described

_SETTINGS = {"cache": False, "isolate": False, "jobs": 1, "strict": True}
_RNG = np.random.default_rng(3)
_TABLE = _RNG.standard_normal((300, 64), np.float32)
_WEIGHT = _RNG.standard_normal((64, 300), np.float32)


def _model() -> onnx.ModelProto:
    """Return table[ids] weight, of which both factors, and the result, are large."""
    node, value = onnx.helper.make_node, onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        [node("Gather", ["table", "ids"], ["x"]), node("MatMul", ["x", "weight"], ["y"])],
        "large",
        [value("ids", onnx.TensorProto.INT64, [70])],
        [value("y", onnx.TensorProto.FLOAT, [70, 300])],
        [
            onnx.numpy_helper.from_array(_TABLE, "table"),
            onnx.numpy_helper.from_array(_WEIGHT, "weight"),
        ],
    )
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 20)])


@pytest.fixture
def compiled(has_gpu: None, monkeypatch: pytest.MonkeyPatch) -> Callable[[], xyntra.Executable]:
    monkeypatch.setattr(pipeline, "SplitBuffers", partial(SplitBuffers, limit=40_960))
    return lambda: xyntra.compile(_model(), target="webgpu", config=_SETTINGS)


def test_parts_hold_the_whole(compiled: Callable[[], xyntra.Executable]) -> None:
    executable = compiled()
    images = images_of(executable.artifact)
    bound = bind_plan(executable.plan, images)
    ranges = [each.ranges for step in bound.steps for each in step if each.launch.starts]
    assert ((0, 40_960), (40_960, 35_840)) in [each[-2:] for each in ranges]
    ids = _RNG.integers(0, 300, 70)
    np.testing.assert_allclose(executable(ids), _TABLE[ids] @ _WEIGHT, rtol=1e-4, atol=1e-4)


def test_pages_bind_the_same_parts(compiled: Callable[[], xyntra.Executable]) -> None:
    executable = compiled()
    images = images_of(executable.artifact)
    bound = bind_plan(executable.plan, images)
    page = described(executable.plan, bound, images, dict.fromkeys(images, 0))
    ranges = [launch["ranges"] for step in page["steps"] for launch in step["launches"]]
    assert ranges == [[list(part) for part in each.ranges] for e in bound.steps for each in e]
