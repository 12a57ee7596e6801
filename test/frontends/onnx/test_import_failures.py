# SPDX-License-Identifier: MIT OR Apache-2.0
"""Importers that fail: whose mistake it is, and what the user is told."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from onnx import helper
from torch_mlir import ir

import xyntra
from xyntra.dialects import make_context
from xyntra.dialects.builder import TensorBuilder
from xyntra.dialects.tensors.broadcasting import ShapeError
from xyntra.errors import CompileError, ModelError, XyntraError
from xyntra.frontends.onnx import importer
from xyntra.frontends.onnx.import_failures import failure_of_import
from xyntra.frontends.onnx.node import Node


def failure(error: Exception, *shapes: tuple[int, ...], op_type: str = "MatMul") -> XyntraError:
    """What is said of a node with inputs of `shapes`, whose importer raised `error`."""
    names = [f"x{number}" for number in range(len(shapes))]
    proto = helper.make_node(op_type, names, ["y"], name="the node")
    with make_context() as context, ir.Location.unknown(context):
        module = ir.Module.create()
        b = TensorBuilder(ir.InsertionPoint(module.body), ir.Location.unknown())
        operands = tuple(b.tensor(np.zeros(shape, np.float32)) for shape in shapes)
        try:
            raise error
        except Exception as raised:
            return failure_of_import(Node(proto, "the node", 22, operands, b), raised)


@pytest.mark.parametrize("error", [AttributeError("no such name"), ValueError("too many values")])
def test_a_failure_at_a_valid_node_is_ours(error: Exception) -> None:
    found = failure(error, (2, 3), (3, 4))
    assert isinstance(found, CompileError)
    assert found.code == "import-failed"
    text = str(found)
    assert "defect of Xyntra" in text
    assert "node 'the node' with inputs float32 [2, 3], float32 [3, 4]" in text
    assert f"{type(error).__name__}: {error}" in text
    assert "test_import_failures.py" in text  # where it was raised


def test_a_failure_at_a_node_that_onnx_refuses_is_the_models() -> None:
    found = failure(IndexError("list index out of range"), (2, 3), (5, 4))
    assert isinstance(found, ModelError)
    assert found.code == "node-invalid"
    assert "Incompatible dimensions" in str(found)


def test_sizes_that_do_not_fit_are_the_models_whatever_onnx_says() -> None:
    found = failure(ShapeError("shapes (2,), (3,) do not broadcast"), (2, 3), (3, 4))
    assert isinstance(found, ModelError)
    assert "do not broadcast" in str(found)


def test_a_failure_of_an_operator_that_onnx_does_not_know_is_ours() -> None:
    found = failure(KeyError("name"), (2, 3), op_type="NobodyKnowsThis")
    assert isinstance(found, CompileError)


def broken(*_: object) -> None:
    raise AttributeError("no such name")


def conditional() -> onnx.ModelProto:
    """A model of which a branch has an Add, and so has the graph itself."""
    value = helper.make_tensor_value_info
    branch = helper.make_graph(
        [helper.make_node("Add", ["x", "x"], ["z"], name="inner")],
        "branch",
        [],
        [value("z", onnx.TensorProto.FLOAT, [2])],
    )
    nodes = [
        helper.make_node("If", ["c"], ["y"], name="if", then_branch=branch, else_branch=branch)
    ]
    inputs = [value("x", onnx.TensorProto.FLOAT, [2]), value("c", onnx.TensorProto.BOOL, [])]
    graph = helper.make_graph(nodes, "g", inputs, [value("y", onnx.TensorProto.FLOAT, [2])])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def called(domain: str) -> onnx.ModelProto:
    """A model that calls a function of its own, which has an Add."""
    value = helper.make_tensor_value_info
    opset = [helper.make_opsetid("", 20), helper.make_opsetid(domain, 1)]
    add = helper.make_node("Add", ["a", "a"], ["b"], name="inner")
    function = helper.make_function(domain, "Twice", ["a"], ["b"], [add], opset)
    node = helper.make_node("Twice", ["x"], ["y"], domain=domain, name="call")
    ends = [value(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph([node], "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=opset, functions=[function], ir_version=10)


@pytest.mark.parametrize(
    ("model", "replaced"),
    [
        (called("com.example"), "find_handler"),
        (conditional(), "find_handler"),
        (conditional(), "import_control_flow"),
    ],
    ids=["in a function", "in a branch", "of control flow"],
)
def test_a_broken_importer_is_ours_wherever_the_node_is(
    model: onnx.ModelProto,
    replaced: str,
    monkeypatch: pytest.MonkeyPatch,
    settings: dict[str, object],
) -> None:
    own = {"find_handler": lambda *_: broken}.get(replaced, broken)
    monkeypatch.setattr(importer, replaced, own)
    with pytest.raises(CompileError) as raised:
        xyntra.compile(model, config=settings)
    assert raised.value.code == "import-failed"
    assert "AttributeError: no such name" in str(raised.value)
    assert "xyntra --report" in str(raised.value)


def test_a_broken_folding_is_ours(
    monkeypatch: pytest.MonkeyPatch, settings: dict[str, object]
) -> None:
    monkeypatch.setattr(importer, "fold", broken)
    constant = helper.make_node("Constant", [], ["c"], value_floats=[1.0, 2.0])
    nodes = [
        constant,
        helper.make_node("Neg", ["c"], ["d"]),
        helper.make_node("Add", ["x", "d"], ["y"]),
    ]
    value = helper.make_tensor_value_info
    ends = [value(name, onnx.TensorProto.FLOAT, [2]) for name in "xy"]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    with pytest.raises(CompileError) as raised:
        xyntra.compile(model, config=settings)
    assert raised.value.code == "import-failed"
