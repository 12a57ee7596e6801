# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the model of a request into a module."""

from __future__ import annotations

from importlib import import_module as import_from

from xyntra.compiler.inputs.aliases import mark_aliases
from xyntra.compiler.worker.request import Request
from xyntra.dialects.mlir import ir
from xyntra.errors import InputError

__all__ = ["PROGRAM_IMPORTERS", "ModelImport", "import_module"]

PROGRAM_IMPORTERS = {
    "torch": ("xyntra.frontends.torch.importer", "import_program"),
    "kernel": ("xyntra.frontends.kernel.importer", "import_kernel"),
    "array": ("xyntra.frontends.arrays.importer", "import_arrays"),
}
"""The importers of those kinds of models that are an `AtenProgram`."""


def import_module(request: Request) -> ir.Module:
    """Return the model of `request` as linalg on tensors, in the current context.

    Raises:
        XyntraError: the model is wrong or has something that is not supported.
    """
    module = _imported(request)
    mark_aliases(module.operation, request.aliases, request.donated)
    return module


def _imported(request: Request) -> ir.Module:
    if request.kind == "onnx":
        from xyntra.frontends.onnx.importer import import_model

        return import_model(
            request.model,
            request.shapes,
            context=ir.Context.current,
            max_tensor_bytes=request.max_tensor_bytes,
            dims=request.dims,
            constants=request.constants,
            values=request.values,
            aliases=request.aliases,
            waits=not request.architecture,
        )
    if request.kind in PROGRAM_IMPORTERS:
        importer, function = PROGRAM_IMPORTERS[request.kind]
        sizes = {"sizes": request.dims} if request.kind == "torch" else {}
        imported: ir.Module = getattr(import_from(importer), function)(
            request.model,
            context=ir.Context.current,
            max_tensor_bytes=request.max_tensor_bytes,
            **sizes,
        )
        return imported
    if request.constants or request.values:
        raise InputError(
            "unknown-input",
            f"'{next(iter(request.constants | request.values))}' cannot be bound",
            cause="values of inputs are bound in ONNX models",
            hint="put the value into the MLIR as an arith.constant",
        )
    from xyntra.frontends.mlir_text import parse_mlir

    return parse_mlir(request.model, ir.Context.current, request.shapes, request.dims)


class ModelImport:
    """The model of a request, on its way to a module."""

    def __init__(self, request: Request) -> None:
        self._request = request

    def module(self) -> ir.Module:
        """As `import_module`."""
        return import_module(self._request)

    def op_types(self) -> dict[str, str]:
        """Return the operator of each of the model's nodes by name, where known."""
        if self._request.kind in PROGRAM_IMPORTERS:
            from xyntra.frontends.torch.program import call_operators

            return call_operators(self._request.model)
        if self._request.kind != "onnx":
            return {}
        from xyntra.compiler.node_types import onnx_op_types

        return onnx_op_types(self._request.model)
