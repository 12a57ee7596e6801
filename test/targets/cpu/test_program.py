# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the loading of programs."""

from __future__ import annotations

import weakref
from pathlib import Path

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


def products(weights: list[np.ndarray]) -> onnx.ModelProto:
    """x @ weights[0] @ weights[1] …, all square and of one size."""
    shape = [8, weights[0].shape[0]]
    nodes, names = [], ["x"]
    tensors: dict[int, str] = {}
    for weight in weights:
        tensors.setdefault(id(weight), f"w{len(tensors)}")
        names.append(f"t{len(names)}")
        nodes.append(onnx.helper.make_node("MatMul", [names[-2], tensors[id(weight)]], names[-1:]))
    ports = [
        onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
        for name in (names[0], names[-1])
    ]
    known = {id(weight): weight for weight in weights}
    stored = [onnx.numpy_helper.from_array(known[key], name) for key, name in tensors.items()]
    graph = onnx.helper.make_graph(nodes, "g", ports[:1], ports[1:], stored)
    return onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)])


@pytest.mark.usefixtures("in_process")
def test_each_weight_is_prepared_once(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    first, second = (rng.standard_normal((64, 64), np.float32) / 8 for _ in range(2))
    executable = xyntra.compile(products([first, second, first]))
    (kernel,) = executable.plan.kernels.values()
    assert kernel.prepared >= first.nbytes
    x = rng.standard_normal((8, 64), np.float32)
    expected = x @ first @ second @ first
    np.testing.assert_allclose(executable(x), expected, rtol=1e-4, atol=1e-5)
    executable.save(tmp_path / "model.xyn")
    loaded = xyntra.load(tmp_path / "model.xyn")
    np.testing.assert_array_equal(loaded(x), executable(x))
    program = executable._program
    assert len(program._copies._memory) == 2


@pytest.mark.usefixtures("in_process")
def test_kernels_share_what_they_make_of_one_weight() -> None:
    rng = np.random.default_rng(1)
    weight = rng.standard_normal((64, 64), np.float32) / 8
    model = products([weight, weight, weight])
    node = model.graph.node[1]
    relu = onnx.helper.make_node("Relu", ["t"], [node.output[0]])
    node.output[0] = "t"
    model.graph.node.insert(2, relu)
    executable = xyntra.compile(model)
    x = rng.standard_normal((8, 64), np.float32)
    expected = np.maximum(x @ weight @ weight, 0) @ weight
    np.testing.assert_allclose(executable(x), expected, rtol=1e-4, atol=1e-5)
    memory = executable._program._copies._memory
    assert len(memory) == 2  # of two kernels, of which one ends in Relu
    assert len({id(each) for each in memory.values()}) == 1
