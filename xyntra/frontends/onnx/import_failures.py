# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells whether a node that could not be imported breaks its operator's rules, or Xyntra does.

An importer checks what it relies on and says so itself (`Node.invalid`). What it did not foresee
ends here: sizes that do not fit are the model's, and so is a node that ONNX's own type and shape
inference refuses. Everything else is a defect of Xyntra, and is called that.
"""

from __future__ import annotations

import os
import traceback

import numpy as np
import onnx
from onnx.shape_inference import InferenceError, infer_node_outputs

from xyntra.dialects.tensors.broadcasting import ShapeError
from xyntra.errors import CompileError, ModelError, XyntraError
from xyntra.frontends.onnx.functions import type_of
from xyntra.frontends.onnx.node import Node
from xyntra.frontends.onnx.values import Absent, Sized, TensorSequence, Value

__all__ = ["failure_of_import"]


def failure_of_import(node: Node, error: Exception) -> XyntraError:
    """Return what the user is told about `node`, whose importer raised `error`.

    Args:
        node: with its operands as they are in the program.
        error: anything but a `XyntraError`.
    """
    refusal = str(error) if isinstance(error, ShapeError) else _refusal_by_onnx(node)
    if refusal is not None:
        return ModelError(
            "node-invalid",
            f"{node.op_type}: the inputs do not fit the operator",
            place=f"node '{node.label}'",
            cause=refusal,
        )
    frame = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{os.path.basename(frame.filename)}:{frame.lineno}, {frame.name}"
    shapes = ", ".join("-" if each is None else _described(each) for each in node.operands)
    return CompileError(
        "import-failed",
        f"{node.op_type}: Xyntra's importer of this operator failed",
        place=f"node '{node.label}' with inputs {shapes}",
        cause=f"{type(error).__name__}: {error}\nin {where}",
        hint="this is a defect of Xyntra, not of the model: please report it with this message\n"
        "and what `xyntra --report` prints; `compile MODEL --reproduce DIR` cuts the model down",
    )


def _described(operand: Value) -> str:
    if isinstance(operand, (TensorSequence, Absent)):
        return operand.dtype
    shape = operand.largest if isinstance(operand, Sized) else operand.shape
    return f"{operand.dtype} {list(shape)}"


def _refusal_by_onnx(node: Node) -> str | None:
    """Return why ONNX's own inference refuses the node; None where it does not, or cannot tell."""
    try:
        schema = onnx.defs.get_schema(node.op_type, node.opset, node.proto.domain)
    except onnx.defs.SchemaError:
        return None
    names = dict(zip(node.proto.input, node.operands, strict=False))
    given = {name: operand for name, operand in names.items() if name and operand is not None}
    try:
        infer_node_outputs(
            schema,
            node.proto,
            {name: type_of(operand) for name, operand in given.items()},
            {name: _value(each) for name, each in given.items() if isinstance(each, np.ndarray)},
            opset_imports=[onnx.helper.make_opsetid(node.proto.domain, node.opset)],
        )
    except (InferenceError, onnx.checker.ValidationError) as error:
        return str(error)
    except Exception:  # it has defects of its own, which say nothing about the node
        return None
    return None


def _value(array: np.ndarray) -> onnx.TensorProto:
    return onnx.numpy_helper.from_array(array)
