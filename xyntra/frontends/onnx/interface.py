# SPDX-License-Identifier: MIT OR Apache-2.0
"""Types of a model's inputs: element types that Xyntra knows, and free dimensions bound."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import ml_dtypes
import onnx
from onnx import TensorProto

from xyntra.dialects.dtypes import ELEMENT_TYPES
from xyntra.errors import InputError, ModelError, UnsupportedError

MAX_RANK = 32
MAX_DIMENSION = 2**40

Shape = tuple[int, ...]


def dtype_name(element_type: int, place: str) -> str:
    """The dtype of an ONNX element type; UnsupportedError when Xyntra has none for it."""
    try:
        name = str(onnx.helper.tensor_dtype_to_np_dtype(element_type).name)
    except (KeyError, ValueError):
        name = ""
    if element_type == TensorProto.BFLOAT16:
        name = ml_dtypes.bfloat16.__name__
    if name not in ELEMENT_TYPES or element_type == TensorProto.STRING:
        known = TensorProto.DataType.DESCRIPTOR.values_by_number.get(element_type)
        label = known.name.lower() if known else str(element_type)
        raise UnsupportedError(
            "dtype-unsupported",
            f"element type {label} is not supported",
            place=place,
            hint="export the model with floats of 16 to 64 bits, integers of 8 to 64, or booleans",
        )
    return name


def bind_inputs(
    inputs: Sequence[onnx.ValueInfoProto], shapes: Mapping[str, Sequence[int]]
) -> list[tuple[str, str, Shape]]:
    """Name, dtype and static shape of every input.

    Args:
        inputs: the graph's inputs that are not initializers.
        shapes: the shapes that the user gave, by input name or `#position`; sizes must agree with
            the model's fixed dimensions, and a named dimension has one size everywhere.

    Raises:
        InputError: `unknown-input`, `shape-mismatch` or `free-dimension`.
    """
    names = [str(value.name) for value in inputs]
    shapes = {_resolve(name, names): shape for name, shape in shapes.items()}
    for name in shapes:
        if name not in names:
            raise InputError(
                "unknown-input",
                f"the model has no input '{name}'",
                cause=f"its inputs are {', '.join(names) or 'none'}",
            )
    symbols = _bind_symbols(inputs, shapes)
    bound = [(_input_dtype(value), _input_shape(value, shapes, symbols)) for value in inputs]
    free = [
        f"input '{name}': [{', '.join(map(str, shape))}]"
        for name, (_, shape) in zip(names, bound, strict=True)
        if any(isinstance(dim, str) for dim in shape)
    ]
    if free:
        raise _free_dimensions(free, names, bound)
    return [
        (name, dtype, tuple(int(dim) for dim in shape))
        for name, (dtype, shape) in zip(names, bound, strict=True)
    ]


def _resolve(name: str, names: Sequence[str]) -> str:
    """The input that `#position` stands for; other names stand for themselves."""
    position = name.removeprefix("#")
    if name in names or position == name or not position.isdigit():
        return name
    return names[int(position)] if int(position) < len(names) else name


def _free_dimensions(
    free: list[str], names: list[str], bound: list[tuple[str, list[int | str]]]
) -> InputError:
    name, shape = next(
        (name, shape)
        for name, (_, shape) in zip(names, bound, strict=True)
        if any(isinstance(dim, str) for dim in shape)
    )
    example = [dim if isinstance(dim, int) else 1 for dim in shape]
    sizes = "x".join(map(str, example))
    return InputError(
        "free-dimension",
        "the model has free dimensions that need a size",
        place="; ".join(free),
        hint=f"--shape {name}={sizes}, or inputs={{'{name}': {tuple(example)}}}",
    )


def _tensor_type(value: onnx.ValueInfoProto) -> onnx.TypeProto.Tensor:
    kind = value.type.WhichOneof("value")
    if kind != "tensor_type":
        raise UnsupportedError(
            "type-unsupported",
            f"values of type {kind or 'none'} are not supported",
            place=f"input '{value.name}'",
        )
    return value.type.tensor_type


def _input_dtype(value: onnx.ValueInfoProto) -> str:
    return dtype_name(_tensor_type(value).elem_type, f"input '{value.name}'")


def _declared(value: onnx.ValueInfoProto) -> list[int | str] | None:
    """Each dimension's size, or its name (`?` when it has none); None for an unknown rank."""
    tensor_type = _tensor_type(value)
    if not tensor_type.HasField("shape"):
        return None
    if len(tensor_type.shape.dim) > MAX_RANK:
        raise ModelError("shape-invalid", f"rank above {MAX_RANK}", place=f"input '{value.name}'")
    dims: list[int | str] = []
    for dim in tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value >= 0:
            _check_size(dim.dim_value, f"input '{value.name}'")
            dims.append(int(dim.dim_value))
        else:
            dims.append(str(dim.dim_param) or "?")
    return dims


def _check_size(size: int, place: str) -> None:
    if not 0 <= size <= MAX_DIMENSION:
        raise ModelError("shape-invalid", f"dimension {size} is out of range", place=place)


def _bind_symbols(
    inputs: Sequence[onnx.ValueInfoProto], shapes: Mapping[str, Sequence[int]]
) -> dict[str, int]:
    symbols: dict[str, int] = {}
    for value in inputs:
        declared = _declared(value)
        given = shapes.get(value.name)
        if declared is None or given is None:
            continue
        if len(given) != len(declared):
            raise _mismatch(value.name, declared, given)
        for dim, size in zip(declared, given, strict=True):
            named = isinstance(dim, str) and dim != "?"
            expected = symbols.setdefault(str(dim), int(size)) if named else dim
            if isinstance(expected, int) and expected != int(size):
                raise _mismatch(value.name, declared, given)
    return symbols


def _mismatch(name: str, declared: Sequence[int | str], given: Sequence[int]) -> InputError:
    return InputError(
        "shape-mismatch",
        f"input '{name}' was given the shape {tuple(given)}",
        cause=f"the model declares ({', '.join(map(str, declared))})",
    )


def _input_shape(
    value: onnx.ValueInfoProto, shapes: Mapping[str, Sequence[int]], symbols: Mapping[str, int]
) -> list[int | str]:
    given = shapes.get(value.name)
    if given is not None:
        for size in given:
            _check_size(int(size), f"input '{value.name}'")
        return [int(size) for size in given]
    declared = _declared(value)
    if declared is None:
        return ["unknown rank"]
    return [symbols.get(dim, dim) if isinstance(dim, str) else dim for dim in declared]
