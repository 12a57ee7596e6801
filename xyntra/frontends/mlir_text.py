# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads MLIR text: linalg on tensors, or any level that `--emit` writes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from torch_mlir import ir

from xyntra.dialects import KernelFacts
from xyntra.dialects.dtypes import ELEMENT_TYPES, ITEM_BYTES
from xyntra.dialects.requires import is_flag_type, read_requirement, requirements_of
from xyntra.dialects.result_sizes import is_size_type, read_size, sizes_of
from xyntra.errors import InputError, ModelError, UnsupportedError
from xyntra.frontends.mlir_sizes import give_sizes
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.manager import run_pipeline
from xyntra.passes.safety.refusal import refusal_of

_INTERFACE = (("arg_attrs", "xyntra.input"), ("res_attrs", "xyntra.output"))


def parse_mlir(
    text: bytes,
    context: ir.Context,
    shapes: Mapping[str, Sequence[int]] | None = None,
    dims: Mapping[str, int] | None = None,
) -> ir.Module:
    """Parse a module with a function on ranked tensors and on numbers; its shapes become static.

    It is the one called 'main', or the only one that is not private; it may call others, and
    kernels. Other functions are made private.

    Args:
        text: MLIR, textual or bytecode.
        context: where to build, with the xyntra dialect loaded.
        shapes: shapes of inputs by name or `#position`; they must be those of the function, and
            decide its `?` dimensions.
        dims: sizes of these by name, as `give_sizes` takes them.

    Raises:
        ModelError: the text does not parse (the message has its line), holds no function, cannot
            have these sizes, or has an access that always leaves its tensor.
        UnsupportedError: it holds several functions of which none is called 'main', or the function
            has other types.
        InputError: `shapes` names an input that does not exist or has another shape, or `dims` a
            dimension that does not; or a dimension has no size.
    """
    try:
        module = ir.Module.parse(text, context)
    except ir.MLIRError as error:
        raise ModelError("mlir-invalid", "the MLIR does not parse", cause=str(error)) from None
    names = _argument_names(_entry(module))
    give_sizes(module, lambda: _entry(module), names, shapes or {}, dims or {})
    check_entry(_entry(module), shapes or {})
    _drop_claims(module)
    return module


def check_entry(main: ir.Operation, shapes: Mapping[str, Sequence[int]]) -> None:
    """Check the function that is compiled: types, names, requirements and shapes.

    Raises:
        ModelError, UnsupportedError, InputError: as `parse_mlir`.
    """
    _check_types(main)
    for attributes, name in _INTERFACE:
        _check_interface(main, attributes, name)
    _check_requirements(main)
    _check_shapes(main, shapes)


def _drop_claims(module: ir.Module) -> None:
    """Remove what the text claims of itself, before any pass believes it."""
    try:
        run_pipeline(module, "distrust")
    except PassFailure as error:
        raise refusal_of(error) or error from None
    except RecursionError:
        raise _unsupported("operations are nested too deeply", "the module") from None


def _entry(module: ir.Module) -> ir.Operation:
    """The function to compile; all others become private.

    Raises:
        ModelError, UnsupportedError: as `parse_mlir`.
    """
    operations = [view.operation for view in module.body.operations]
    for op in operations:
        _check_function(op)
    functions = [op for op in operations if KernelFacts.of(op) is None]
    if not functions:
        raise ModelError("mlir-no-function", "the MLIR has no function to compile")
    named = [op for op in functions if _symbol(op) == "main"]
    public = [op for op in functions if not _is_private(op)]
    found = next((each for each in (named, public, functions) if len(each) == 1), None)
    if found is None:
        names = ", ".join(f"'{_symbol(op)}'" for op in public or functions)
        raise UnsupportedError(
            "mlir-unsupported",
            "one function is compiled, with those that it calls",
            place=f"functions {names}",
            hint="call it 'main', or make the others private",
        )
    for op in functions:
        if op != found[0]:
            op.attributes["sym_visibility"] = ir.StringAttr.get("private")
    return found[0]


def _is_private(op: ir.Operation) -> bool:
    given = op.attributes.get("sym_visibility")
    return given is not None and ir.StringAttr(given).value == "private"


def _check_function(op: ir.Operation) -> None:
    if op.name != "func.func":
        raise _unsupported(f"'{op.name}' at the top level is not supported", str(op.location))
    if not len(op.regions[0].blocks):
        raise _unsupported(
            "a function without a body is not supported", f"function '{_symbol(op)}'"
        )


def _check_types(op: ir.Operation) -> None:
    type_ = ir.FunctionType(ir.TypeAttr(op.attributes["function_type"]).value)
    for value_type in [*type_.inputs, *type_.results]:
        _check_type(value_type, f"function '{_symbol(op)}'")


def _check_type(type_: ir.Type, place: str) -> None:
    if str(type_) in ITEM_BYTES:
        return
    if isinstance(type_, ir.IndexType):
        raise UnsupportedError(
            "mlir-unsupported",
            "functions do not take or return values of type index",
            place=place,
            hint="use i64, and arith.index_cast inside",
        )
    if not isinstance(type_, ir.RankedTensorType) or not type_.has_static_shape:
        raise _unsupported(
            f"functions take and return ranked tensors of static shape and numbers, not {type_}",
            place,
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
        tensor = isinstance(value_type, ir.RankedTensorType)
        element = str(value_type.element_type if tensor else value_type)
        if dtype is not None and ELEMENT_TYPES.get(dtype) != element:
            raise ModelError(
                "mlir-invalid",
                f"the dtype '{dtype}' is not one of the type {element}",
                place=f"function '{_symbol(function)}'",
            )
        if given.get(name) in names:
            raise ModelError("duplicate-name", f"two values are called '{given[name]}'")
        names |= {given[name]} if name in given else set()


def _check_requirements(function: ir.Operation) -> None:
    type_ = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    for position, attribute in requirements_of(function):
        place = f"function '{_symbol(function)}', result {position}"
        if not is_flag_type(type_.results[position]):
            raise ModelError(
                "mlir-invalid", "what is required is one boolean, i1 or tensor<i1>", place=place
            )
        try:
            read_requirement(attribute)
        except ValueError as error:
            raise ModelError(
                "mlir-invalid", "'xyntra.requires' holds no error", place=place, cause=str(error)
            ) from None
    _check_sizes(function, type_)


def _check_sizes(function: ir.Operation, type_: ir.FunctionType) -> None:
    given = _attributes(function, "res_attrs")
    numbers = {each.get("xyntra.output"): number for number, each in enumerate(given)}
    for position, attribute in sizes_of(function):
        place = f"function '{_symbol(function)}', result {position}"
        if not is_size_type(type_.results[position]):
            raise ModelError("mlir-invalid", "a size is one integer, tensor<i64>", place=place)
        try:
            name, dimension = read_size(attribute)
            found = type_.results[numbers[name]]
            if not isinstance(found, ir.RankedTensorType) or not 0 <= dimension < found.rank:
                raise ValueError(f"'{name}' has no dimension {dimension}")
        except (ValueError, KeyError) as error:
            raise ModelError(
                "mlir-invalid", "'xyntra.size_of' fits no result", place=place, cause=str(error)
            ) from None


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
    named = zip(arguments, _argument_names(function), strict=True)
    found: dict[str, tuple[int, ...]] = {}
    for position, (argument, name) in enumerate((each, name) for each, name in named if name):
        tensor = isinstance(argument.type, ir.RankedTensorType)
        shape = tuple(argument.type.shape) if tensor else ()
        found[f"#{position}"] = found[name] = shape
    return found


def _argument_names(function: ir.Operation) -> list[str]:
    """The name of each argument; "" for weights."""
    arguments = function.regions[0].blocks[0].arguments
    given = _attributes(function, "arg_attrs") or [{}] * len(arguments)
    return [
        "" if "xyntra.parameter" in each else each.get("xyntra.input", f"input{index}")
        for index, each in enumerate(given)
    ]


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
