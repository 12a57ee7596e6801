# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads sizes and values for what a model leaves free: `inputs=`, `dims=` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

from xyntra.compiler.inputs.constants import Constants, constants_of
from xyntra.errors import InputError, UnsupportedError

__all__ = ["Sizes", "refuse_range", "sizes_of"]


@dataclass(frozen=True)
class Sizes:
    """Sizes for the free dimensions of a model, and values for inputs.

    Attributes:
        shapes: shapes of inputs, by name or by `#position`.
        dims: sizes of named dimensions.
        constants: values of inputs, which then are none.
        values: those that other inputs have in calls, where a shape depends on them.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)
    values: Constants = field(default_factory=dict)


def sizes_of(
    inputs: Any = None, dims: Any = None, constants: Any = None, specialize: Any = None
) -> Sizes:
    """Read `inputs=` (shapes or example arrays, by name or in order), and the other arguments.

    Raises:
        InputError: they hold something else.
        UnsupportedError: a range of sizes is given.
    """
    values = constants_of(specialize, "specialize")
    return Sizes(_shapes(inputs), _dims(dims), constants_of(constants), values)


def refuse_range(name: str, place: str) -> UnsupportedError:
    """The error for a dimension that is to have several sizes."""
    return UnsupportedError(
        "dimension-range",
        f"a range of sizes for '{name}' is not supported yet",
        place=place,
        cause="every dimension has one size when a model is compiled",
        hint=f"give one size, and compile the model once for each: dims={{{name!r}: 128}}",
    )


def _shapes(inputs: Any) -> dict[str, tuple[int, ...]]:
    if inputs is None:
        return {}
    if isinstance(inputs, Mapping):
        return {
            name: _shape(part, f"inputs[{label!r}]")
            for label, value in inputs.items()
            for name, part in _parts(_name(label), value)
        }
    if not isinstance(inputs, (list, tuple)):
        raise _wrong_shapes("inputs=", inputs)
    return {f"#{i}": _shape(value, f"inputs[{i}]") for i, value in enumerate(inputs)}


def _parts(name: str, value: Any) -> list[tuple[str, Any]]:
    """The tensors of an input, by the names of the elements of a sequence; none for None."""
    if value is None:
        return []
    parts = value if isinstance(value, (list, tuple)) else ()
    if parts and all(isinstance(each, (list, tuple)) or hasattr(each, "shape") for each in parts):
        return [(f"{name}[{number}]", each) for number, each in enumerate(parts)]
    return [(name, value)]


def _name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError("shape-type", f"{name!r} is no name of an input", place="inputs=")
    return name


def _shape(value: Any, place: str) -> tuple[int, ...]:
    shape = getattr(value, "shape", value)
    try:
        sizes = tuple(map(index, shape)) if not isinstance(shape, (str, bytes)) else None
    except TypeError:
        sizes = None
    if sizes is None:
        raise _wrong_shapes(place, value)
    if any(size < 0 for size in sizes):
        raise InputError("shape-mismatch", f"the shape {sizes} has a negative size", place=place)
    return sizes


def _wrong_shapes(place: str, value: Any) -> InputError:
    hint = "inputs={'x': (1, 3)}, or inputs=[array]"
    if isinstance(value, int) and not isinstance(value, bool):
        hint += f"; one size of a named dimension is dims={{'batch': {value}}}"
    return InputError(
        "shape-type",
        f"expected shapes or example arrays, got {repr(value)[:60]}",
        place=place,
        hint=hint,
    )


def _dims(dims: Any) -> dict[str, int]:
    if dims is None:
        return {}
    if not isinstance(dims, Mapping):
        raise _wrong_dim("dims=", dims)
    return {_dim_name(name): _size(name, value) for name, value in dims.items()}


def _dim_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError("shape-type", f"{name!r} is no name of a dimension", place="dims=")
    return name


def _size(name: str, value: Any) -> int:
    place = f"dims[{name!r}]"
    if isinstance(value, (range, slice, list, tuple, set)):
        raise refuse_range(name, place)
    try:
        if isinstance(value, bool):
            raise TypeError
        size = index(value)
    except TypeError:
        raise _wrong_dim(place, value) from None
    if size < 0:
        raise InputError("shape-mismatch", f"a dimension cannot have the size {size}", place=place)
    return size


def _wrong_dim(place: str, value: Any) -> InputError:
    return InputError(
        "shape-type",
        f"expected sizes of named dimensions, got {repr(value)[:60]}",
        place=place,
        hint="dims={'batch': 1}",
    )
