# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads MLIR text: linalg on tensors, or any level that `--emit` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch_mlir import ir

from xyntra.dialects import Kernel
from xyntra.dialects.dtypes import ELEMENT_TYPES, ITEM_BYTES
from xyntra.errors import InputError, ModelError, UnsupportedError

_INTERFACE = (("arg_attrs", "xyntra.input"), ("res_attrs", "xyntra.output"))


def parse_mlir(
    text: bytes, context: ir.Context, shapes: Mapping[str, Sequence[int]] | None = None
) -> ir.Module:
    """Parse a module of one function (and perhaps kernels) on ranked tensors of static shape.

    Args:
        text: MLIR, textual or bytecode.
        context: where to build, with the xyntra dialect loaded.
        shapes: shapes of inputs by name or `#position`; they must be those of the function.

    Raises:
        ModelError: the text does not parse (the message has its line), or holds no function.
        UnsupportedError: it holds several functions, or one of other types.
        InputError: `shapes` names an input that does not exist or has another shape.
    """
    try:
        module = ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise ModelError("mlir-invalid", "the MLIR does not parse", cause=str(error)) from None
    operations = [view.operation for view in module.body.operations]
    for op in operations:
        _check_function(op)
    main = _only_function([op for op in operations if Kernel.of(op) is None])
    for attributes, name in _INTERFACE:
        _check_interface(main, attributes, name)
    _check_shapes(main, shapes or {})
    return module


def _only_function(functions: Sequence[ir.Operation]) -> ir.Operation:
    if not functions:
        raise ModelError("mlir-no-function", "the MLIR has no function to compile")
    if len(functions) > 1:
        names = ", ".join(f"'{_symbol(op)}'" for op in functions)
        raise _unsupported("only one function, beside kernels, is compiled", f"functions {names}")
    return functions[0]


def _check_function(op: ir.Operation) -> None:
    if op.name != "func.func":
        raise _unsupported(f"'{op.name}' at the top level is not supported", str(op.location))
    place = f"function '{_symbol(op)}'"
    if not len(op.regions[0].blocks):
        raise _unsupported("a function without a body is not supported", place)
    type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    for value_type in [*type_.inputs, *type_.results]:
        _check_type(value_type, place)


def _check_type(type_: ir.Type, place: str) -> None:
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise _unsupported(
            f"functions take and return ranked tensors of static shape, not {type_}", place
        )
    if str(type_.element_type) not in ITEM_BYTES or type_.encoding is not None:
        raise _unsupported(f"tensors of type {type_} are not supported", place)


def _check_interface(function: ir.Operation, attributes: str, name: str) -> None:
    """Check the names and dtypes that are attributes of arguments or results."""
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    types = type_.inputs if attributes == "arg_attrs" else type_.results
    names = set()
    for value_type, given in zip(types, _attributes(function, attributes), strict=False):
        dtype = given.get("xyntra.dtype")
        element = str(ir.RankedTensorType(value_type).element_type)
        if dtype is not None and ELEMENT_TYPES.get(dtype) != element:
            raise ModelError(
                "mlir-invalid",
                f"the dtype '{dtype}' is not one of the type {element}",
                place=f"function '{_symbol(function)}'",
            )
        if given.get(name) in names:
            raise ModelError("duplicate-name", f"two values are called '{given[name]}'")
        names |= {given[name]} if name in given else set()


def _check_shapes(function: ir.Operation, shapes: Mapping[str, Sequence[int]]) -> None:
    found = _inputs(function)
    for name, shape in shapes.items():
        known = found.get(name)
        if known is None:
            raise InputError(
                "unknown-input",
                f"the model has no input '{name}'",
                cause=f"its inputs are {', '.join(n for n in found if n[0] != '#') or 'none'}",
            )
        if known != tuple(shape):
            raise InputError(
                "shape-mismatch",
                f"input '{name}' was given the shape {tuple(shape)}",
                cause=f"the function declares {known}",
            )


def _inputs(function: ir.Operation) -> dict[str, tuple[int, ...]]:
    """The shape of each argument that is no weight, by name and by `#position`."""
    arguments = function.regions[0].blocks[0].arguments
    given = _attributes(function, "arg_attrs") or [{}] * len(arguments)
    found: dict[str, tuple[int, ...]] = {}
    position = 0
    for index, (argument, attributes) in enumerate(zip(arguments, given, strict=True)):
        if "xyntra.parameter" in attributes:
            continue
        shape = tuple(ir.RankedTensorType(argument.type).shape)
        found[f"#{position}"] = found[attributes.get("xyntra.input", f"input{index}")] = shape
        position += 1
    return found


def _attributes(function: ir.Operation, name: str) -> list[dict[str, str]]:
    """The text attributes of each argument or result; empty where none has any."""
    if name not in function.attributes:
        return []
    return [
        {e.name: e.attr.value for e in dictionary if isinstance(e.attr, ir.StringAttr)}
        for dictionary in map(ir.DictAttr, ir.ArrayAttr(function.attributes[name]))
    ]


def _symbol(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value)


def _unsupported(message: str, place: str) -> UnsupportedError:
    return UnsupportedError("mlir-unsupported", message, place=place)
