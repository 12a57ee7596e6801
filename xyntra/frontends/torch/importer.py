# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports a PyTorch program as linalg on tensors; torch itself is not needed.

Weights become arguments of `main`, named by `xyntra.parameter`; small ones are constants.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any

from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor, TensorBuilder
from xyntra.dialects.dtypes import item_bytes
from xyntra.dialects.requires import REQUIRES, requires_attribute
from xyntra.errors import CompileError, UnsupportedError, XyntraError
from xyntra.frontends.torch.node import (
    AtenNode,
    Handler,
    Result,
    find_handler,
    unknown_operator,
)
from xyntra.frontends.torch.program import AtenCall, AtenProgram, AtenRequirement, AtenTensor
from xyntra.frontends.torch.sized_program import program_at

__all__ = ["import_program"]


def import_program(
    data: bytes,
    *,
    context: ir.Context,
    max_tensor_bytes: int,
    find: Callable[[str], Handler | None] = find_handler,
    sizes: Mapping[str, int] | None = None,
) -> ir.Module:
    """Import a program that `Program.to_bytes` wrote.

    Args:
        data: the program.
        context: where to build, with the xyntra dialect loaded.
        max_tensor_bytes: refuse programs with a larger tensor.
        find: the importer of an operator by its name; None where there is none.
        sizes: of dimensions that are free, by name; the others have those of the example.

    Returns:
        A module with one function `main`, as the importer of ONNX makes it.

    Raises:
        UnsupportedError: an operator, or a use of one, is not supported, with the node's name, or
            the program was traced for other sizes.
        InputError: `sizes` has a name that is not that of a dimension.
    """
    program = program_at(AtenProgram.from_bytes(data), sizes or {})
    return _Importer(program, context, max_tensor_bytes, find).run()


class _Importer:
    def __init__(
        self,
        program: AtenProgram,
        context: ir.Context,
        max_tensor_bytes: int,
        find: Callable[[str], Handler | None],
    ) -> None:
        self.find = find
        self.program = program
        self.context = context
        self.max_tensor_bytes = max_tensor_bytes
        self.values: dict[str, Result | Sequence[Result]] = {}
        self.weights: dict[str, Tensor] = {}
        self.interface: list[tuple[str, str, str]] = []

    def run(self) -> ir.Module:
        unknown = ir.Location.unknown(self.context)
        module = ir.Module.create(unknown)
        with unknown:
            function = ir.Operation.create(
                "func.func",
                attributes={
                    "sym_name": ir.StringAttr.get("main"),
                    "function_type": ir.TypeAttr.get(ir.FunctionType.get([], [])),
                },
                regions=1,
                ip=ir.InsertionPoint(module.body),
            )
        self.block = function.regions[0].blocks.append()
        self.b = TensorBuilder(ir.InsertionPoint(self.block), unknown)
        for each in self.program.inputs:
            self.values[each.name] = self._argument("input", each.name, each.type)
        for parameter in self.program.parameters:
            array = parameter.array()
            self.values[parameter.name] = (
                self._weight(parameter.weight, parameter.type) if array is None else array
            )
        for call in self.program.calls:
            self._call(call)
        self._finish(function)
        return module

    def _argument(self, kind: str, name: str, type_: AtenTensor) -> Tensor:
        self._check_bytes(type_, f"{kind} '{name}'")
        self.interface.append((kind, name, type_.dtype))
        location = ir.Location.name(name, context=self.context)
        mlir = self.b.tensor_type(type_.shape, type_.dtype)
        return Tensor(self.block.add_argument(mlir, location), type_.dtype)

    def _weight(self, name: str, type_: AtenTensor) -> Tensor:
        if name not in self.weights:
            self.weights[name] = self._argument("parameter", name, type_)
        return self.weights[name]

    def _call(self, call: AtenCall) -> None:
        self.b.location = ir.Location.name(call.label, context=self.context)
        if call.operator == "getitem":
            source: Any = self.values[call.arguments["source"]["value"]]
            self.values[call.name] = source[call.arguments["index"]]
            return
        for type_ in call.results:
            if type_ is not None:
                self._check_bytes(type_, f"node '{call.label}'")
        handler = self.find(call.operator)
        if handler is None:
            raise unknown_operator(call)
        node = AtenNode(call, {k: self._loaded(v, call) for k, v in call.arguments.items()}, self.b)
        try:
            result = handler(node)
        except XyntraError:
            raise
        except Exception as error:
            raise CompileError(
                "import-failed",
                f"{call.operator}: Xyntra's importer of this operator failed",
                place=f"node '{call.label}'",
                cause=f"{type(error).__name__}: {error}",
                hint="this is a defect of Xyntra, not of the model: please report it",
            ) from error
        self.values[call.name] = self._checked(node, result)

    def _loaded(self, value: Any, call: AtenCall) -> Any:
        if isinstance(value, dict) and "value" in value:
            found = self.values[value["value"]]
            if found is None:
                raise UnsupportedError(
                    "operator-unsupported",
                    f"{call.operator}: it reads a result that is not computed",
                    place=f"node '{call.label}'",
                )
            return found
        if isinstance(value, list):
            return [self._loaded(each, call) for each in value]
        return value

    def _checked(
        self, node: AtenNode, result: Result | Sequence[Result]
    ) -> Result | Sequence[Result]:
        """Return the results, once they are known to have the types that PyTorch says."""
        many = isinstance(result, (list, tuple))
        found: Sequence[Any] = result if isinstance(result, (list, tuple)) else [result]
        for operand, type_ in zip(found, node.call.results, strict=False):
            if operand is None or type_ is None:
                continue
            dtype = operand.dtype if isinstance(operand, Tensor) else operand.dtype.name
            if (dtype, tuple(operand.shape)) != (type_.dtype, type_.shape):
                raise node.unsupported(
                    f"a result of {dtype} {list(operand.shape)} where PyTorch has"
                    f" {type_.dtype} {list(type_.shape)}"
                )
        return found if many else found[0]

    def _finish(self, function: ir.Operation) -> None:
        results = [self._output(name) for name in self.program.outputs]
        flags = [self._output(each.name) for each in self.program.requirements]
        returned = [tensor.value for tensor in (*results, *flags)]
        self.b.emit("func.return", returned, [])
        types = [argument.type for argument in self.block.arguments]
        names = self.program.output_names or [f"output{n}" for n in range(len(results))]
        named = [("output", n, tensor.dtype) for n, tensor in zip(names, results, strict=True)]
        with self.b.location:
            function.attributes["function_type"] = ir.TypeAttr.get(
                ir.FunctionType.get(types, [value.type for value in returned])
            )
            function.attributes["arg_attrs"] = _attributes(self.interface)
            function.attributes["res_attrs"] = ir.ArrayAttr.get(
                [*_attributes(named), *(self._required(each) for each in self.program.requirements)]
            )

    def _required(self, requirement: AtenRequirement) -> ir.Attribute:
        fields = requires_attribute(requirement.texts)
        return ir.DictAttr.get({"xyntra.dtype": ir.StringAttr.get("bool"), REQUIRES: fields})

    def _output(self, name: str) -> Tensor:
        value: Any = self.values[name]
        if value is None:
            raise UnsupportedError(
                "operator-unsupported",
                f"'{name}' is returned, but not computed",
                place=f"output '{name}'",
                hint="it is a statistic for a gradient, or the places of maxima: leave it out",
            )
        operand: Operand = value
        return self.b.tensor(operand)

    def _check_bytes(self, type_: AtenTensor, place: str) -> None:
        size = prod(type_.shape) * item_bytes(type_.dtype)
        if size > self.max_tensor_bytes:
            raise UnsupportedError(
                "tensor-too-large",
                f"a tensor of shape {type_.shape} and {type_.dtype} takes {size:,} bytes",
                place=place,
                cause=f"the limit is {self.max_tensor_bytes:,} bytes",
                hint="raise max_tensor_bytes if the model really needs it",
            )


def _attributes(interface: Sequence[tuple[str, str, str]]) -> ir.ArrayAttr:
    return ir.ArrayAttr.get(
        [
            ir.DictAttr.get(
                {
                    f"xyntra.{kind}": ir.StringAttr.get(name),
                    "xyntra.dtype": ir.StringAttr.get(dtype),
                }
            )
            for kind, name, dtype in interface
        ]
    )
