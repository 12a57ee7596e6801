# SPDX-License-Identifier: MIT OR Apache-2.0
"""Importers that fail: whose mistake it is, and what the user is told."""

from __future__ import annotations

import numpy as np
import pytest
from onnx import helper
from torch_mlir import ir

from xyntra.dialects import make_context
from xyntra.dialects.builder import ShapeError, TensorBuilder
from xyntra.errors import CompileError, ModelError, XyntraError
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
