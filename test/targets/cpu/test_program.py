# SPDX-License-Identifier: MIT OR Apache-2.0
"""What a program does when it is loaded."""

from __future__ import annotations

import weakref

import numpy as np
import onnx
import pytest

import xyntra
from xyntra.targets.cpu import program
from xyntra.targets.cpu.replay import StepTable


def model(weight: np.ndarray) -> onnx.ModelProto:
    """x + softmax(softmax(weight)): the weight's kernels run at load and need scratch memory."""
    nodes = [
        onnx.helper.make_node("Softmax", ["w"], ["a"], axis=1),
        onnx.helper.make_node("Softmax", ["a"], ["b"], axis=0),
        onnx.helper.make_node("Add", ["x", "b"], ["y"]),
    ]
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, weight.shape)
        for name in "xy"
    ]
    weights = [onnx.numpy_helper.from_array(weight, "w")]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], weights)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


def test_memory_of_kernels_that_run_at_load_outlives_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    contexts: list[weakref.ref[object]] = []
    alive: list[bool] = []
    make, run = program._Context.__init__, StepTable.run

    def remember(self: object, *arguments: object) -> None:
        contexts.append(weakref.ref(self))
        make(self, *arguments)  # type: ignore[arg-type]

    def check(self: StepTable) -> None:
        alive.append(contexts[-1]() is not None)
        run(self)

    monkeypatch.setattr(program._Context, "__init__", remember)
    monkeypatch.setattr(StepTable, "run", check)
    weight = np.random.default_rng(0).standard_normal((64, 64), np.float32)
    executable = xyntra.compile(model(weight))
    assert alive
    assert all(alive)
    assert any(kernel.scratch for kernel in executable.plan.kernels.values())
    row = np.exp(weight - weight.max(1, keepdims=True))
    row /= row.sum(1, keepdims=True)
    column = np.exp(row - row.max(0))
    x = np.zeros((64, 64), np.float32)
    np.testing.assert_allclose(executable(x), column / column.sum(0), rtol=1e-5)
