# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds the function `main`: its arguments, which are inputs and weights, and what it returns."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch_mlir import ir

from xyntra.dialects.aliases import FILLED, input_names, set_argument_text
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.result_sizes import SIZE_OF, size_attribute
from xyntra.frontends.onnx.control.requirements import Requirements, erase_unused
from xyntra.frontends.onnx.folding.record import fold_record
from xyntra.frontends.onnx.inputs.input_shapes import FIXED_BY
from xyntra.frontends.onnx.inputs.provenance import inputs_behind
from xyntra.frontends.onnx.values import Sized

__all__ = ["MainFunction"]


class MainFunction:
    """The function that a model becomes.

    Attributes:
        module: holds it alone.
        b: builds its body.
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
        self.b = TensorBuilder(ir.InsertionPoint(self._block), unknown, fold_record().note_tensor)
        self._arguments: list[tuple[str, str, str, Sequence[str]]] = []

    def argument(
        self,
        kind: str,
        name: str,
        shape: Sequence[int],
        dtype: str,
        fixed_by: Sequence[str] = (),
    ) -> Tensor:
        """A new argument; `kind` is "input" or "parameter"."""
        type_ = self.b.tensor_type(shape, dtype)
        location = ir.Location.name(name, context=self.b.context)
        self._arguments.append((kind, name, dtype, fixed_by))
        return Tensor(self._block.add_argument(type_, location), dtype)

    def say_filled(self, names: Collection[str], length: str) -> None:
        """Let inputs be caches, whose length the input `length` says; only once it is finished."""
        for number, name in input_names(self._function).items():
            if name in names:
                set_argument_text(self._function, number, FILLED, length)

    def behind(self, tensor: Tensor, kind: str) -> list[str]:
        """The names of the arguments of a kind that `tensor` is computed from, in order."""
        numbers = sorted(inputs_behind(tensor.value, self._block))
        found = [self._arguments[number][:2] for number in numbers]
        return [name for each, name in found if each == kind]

    def finish(
        self, results: Sequence[tuple[str, Tensor | Sized]], requirements: Requirements
    ) -> None:
        """Return named outputs, then what is required, then sizes; it is the last to be built."""
        required = requirements.merged()
        whole = [(n, each.tensor if isinstance(each, Sized) else each) for n, each in results]
        sizes = [
            (size_of, name, dimension)
            for name, each in results
            if isinstance(each, Sized)
            for dimension, size_of in sorted(each.sizes.items())
        ]
        tensors = [*(tensor for _, tensor in whole), *(each.flag for each in required)]
        tensors += [size for size, _, _ in sizes]
        returned = [tensor.value for tensor in tensors]
        self.b.emit("func.return", returned, [])
        if requirements.is_partial:
            kept = erase_unused(self._block, [kind for kind, *_ in self._arguments])
            self._arguments = [self._arguments[number] for number in kept]
        types = [argument.type for argument in self._block.arguments]
        with self.b.location:
            attributes = self._function.attributes
            attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, [value.type for value in returned])
            )
            attributes["arg_attrs"] = ir.ArrayAttr.get(
                [_interface_attribute(*entry) for entry in self._arguments]
            )
            attributes["res_attrs"] = ir.ArrayAttr.get(
                [_interface_attribute("output", name, tensor.dtype) for name, tensor in whole]
                + [requirement.attribute() for requirement in required]
                + [_size_attribute(name, dimension) for _, name, dimension in sizes]
            )


def _size_attribute(output: str, dimension: int) -> ir.Attribute:
    dtype = ir.StringAttr.get("int64")
    return ir.DictAttr.get({"xyntra.dtype": dtype, SIZE_OF: size_attribute(output, dimension)})


def _interface_attribute(
    kind: str, name: str, dtype: str, fixed_by: Sequence[str] = ()
) -> ir.Attribute:
    attributes = {
        f"xyntra.{kind}": ir.StringAttr.get(name),
        "xyntra.dtype": ir.StringAttr.get(dtype),
    }
    if any(fixed_by):
        attributes[FIXED_BY] = ir.ArrayAttr.get([ir.StringAttr.get(each) for each in fixed_by])
    return ir.DictAttr.get(attributes)
