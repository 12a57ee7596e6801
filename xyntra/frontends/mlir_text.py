# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads MLIR text: linalg on tensors, or any level that `--emit` writes."""

from __future__ import annotations

from torch_mlir import ir

from xyntra.errors import ModelError, UnsupportedError


def parse_mlir(text: bytes, context: ir.Context) -> ir.Module:
    """Parse a module of one function (and perhaps kernels) on ranked tensors of static shape.

    Args:
        text: MLIR, textual or bytecode.
        context: where to build, with the xyntra dialect loaded.

    Raises:
        ModelError: the text does not parse; the message has its line.
        UnsupportedError: a value of a function's interface has no static tensor type.
    """
    try:
        module = ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise ModelError("mlir-invalid", "the MLIR does not parse", cause=str(error)) from None
    for view in module.body.operations:
        _check_function(view.operation)
    return module


def _check_function(op: ir.Operation) -> None:
    if op.name != "func.func":
        raise UnsupportedError("mlir-unsupported", f"'{op.name}' at the top level is not supported")
    type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    for value_type in [*type_.inputs, *type_.results]:
        if not isinstance(value_type, ir.RankedTensorType) or not value_type.has_static_shape:
            name = ir.StringAttr(op.attributes["sym_name"]).value
            raise UnsupportedError(
                "mlir-unsupported",
                f"functions take and return ranked tensors of static shape, not {value_type}",
                place=f"function '{name}'",
            )
