# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds modules of level 1 (linalg on tensors) without a model file."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir

__all__ = ["FunctionBuilder"]


class FunctionBuilder:
    """A module with one function `main`, in the form that frontends give it.

    Args:
        context: where to build, with the xyntra dialect loaded.
    """

    def __init__(self, context: ir.Context) -> None:
        unknown = ir.Location.unknown(context)
        self.module = ir.Module.create(unknown)
        with unknown:
            self._function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
                regions=1,
                ip=ir.InsertionPoint(self.module.body),
            )
        self._block = self._function.regions[0].blocks.append()
        self._interface: list[ir.Attribute] = []
        self.b = TensorBuilder(ir.InsertionPoint(self._block), unknown)

    def argument(self, name: str, shape: Sequence[int], dtype: str, kind: str = "input") -> Tensor:
        """A new argument; `kind` is "input" or "parameter"."""
        location = ir.Location.name(name, context=self.b.context)
        self._interface.append(_interface(kind, name, dtype, self.b.context))
        return Tensor(self._block.add_argument(self.b.tensor_type(shape, dtype), location), dtype)

    def name(self, label: str) -> None:
        """Give the operations that follow the location `label`."""
        self.b.location = ir.Location.name(label, context=self.b.context)

    def finish(self, outputs: dict[str, Tensor]) -> ir.Module:
        """End the function with its results by name and return the module."""
        self.b.emit("func.return", [tensor.value for tensor in outputs.values()], [])
        inputs = [argument.type for argument in self._block.arguments]
        results = [tensor.value.type for tensor in outputs.values()]
        attributes = self._function.attributes
        with self.b.location:
            attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, results))
            attributes["arg_attrs"] = ir.ArrayAttr.get(self._interface)
            attributes["res_attrs"] = ir.ArrayAttr.get(
                [
                    _interface("output", name, tensor.dtype, self.b.context)
                    for name, tensor in outputs.items()
                ]
            )
        return self.module


def _interface(kind: str, name: str, dtype: str, context: ir.Context) -> ir.Attribute:
    entries = {
        f"xyntra.{kind}": ir.StringAttr.get(name, context),
        "xyntra.dtype": ir.StringAttr.get(dtype, context),
    }
    return ir.DictAttr.get(entries, context)
