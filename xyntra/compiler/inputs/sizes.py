# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a caller fixes of a model: `inputs=`, `dims=`, `constants=` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

from xyntra.compiler.inputs.aliases import read_aliases
from xyntra.compiler.inputs.constants import Constants, constants_of
from xyntra.errors import InputError

__all__ = ["Sizes", "range_of", "sizes_of"]


@dataclass(frozen=True)
class Sizes:
    """Sizes for the free dimensions of a model, values for inputs, and where outputs lie.

    Attributes:
        shapes: shapes of inputs, by name or by `#position`.
        dims: sizes of named dimensions.
        ranges: least and largest sizes, and the step between, of dimensions that stay free.
        named: of shapes in which names of these stand, the name in each place, or "".
        constants: values of inputs, which then are none.
        values: those that other inputs have in calls, where a shape depends on them.
        aliases: inputs that outputs are written over, by the names of the outputs.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)
    values: Constants = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    ranges: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


def sizes_of(
    inputs: Any = None,
    dims: Any = None,
    constants: Any = None,
    specialize: Any = None,
    aliases: Any = None,
) -> Sizes:
    """Read `inputs=` (shapes or example arrays, by name or in order), and the other arguments.

    Raises:
        InputError: they hold something else.
    """
    fixed, ranges = _dims(dims)
    shapes, named = {}, {}
    for name, shape in _shapes(inputs).items():
        shapes[name] = tuple(_placed(size, name, fixed, ranges) for size in shape)
        names = tuple(size if isinstance(size, str) and size in ranges else "" for size in shape)
        if any(names):
            named[name] = names
    return Sizes(
        shapes,
        fixed,
        constants=constants_of(constants),
        values=constants_of(specialize, "specialize"),
        aliases=read_aliases(aliases),
        ranges=ranges,
        named=named,
    )


def range_of(name: str, sizes: range, place: str) -> tuple[int, int, int]:
    """The least and the largest size of a range, and the step between.

    Raises:
        InputError: `dimension-range`, it is empty, or has sizes below 1.
    """
    if not sizes or sizes[0] < 1 or sizes.step < 1:
        raise InputError(
            "dimension-range",
            f"'{name}' cannot have the sizes {sizes}",
            place=place,
            cause="the sizes of a dimension are 1 or more, in rising order",
            hint=f"dims={{{name!r}: range(1, 513)}} has sizes from 1 to 512",
        )
    return sizes[0], sizes[-1], sizes.step


def _placed(
    size: int | str, name: str, fixed: Mapping[str, int], ranges: Mapping[str, tuple[int, int, int]]
) -> int:
    """A size of a shape; of a name, the size that `dims` gives it, the least one of a range."""
    if not isinstance(size, str):
        return size
    if size in ranges:
        return ranges[size][0]
    if size in fixed:
        return fixed[size]
    raise InputError(
        "unknown-dimension",
        f"the size of '{size}' is not given",
        place=f"inputs[{name!r}]",
        hint=f"dims={{{size!r}: range(1, 513)}}, or dims={{{size!r}: 128}}",
    )


def _shapes(inputs: Any) -> dict[str, tuple[int | str, ...]]:
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


def _shape(value: Any, place: str) -> tuple[int | str, ...]:
    shape = getattr(value, "shape", value)
    sizes: tuple[int | str, ...] | None
    try:
        is_shape = not isinstance(shape, (str, bytes))
        sizes = tuple(each if isinstance(each, str) else index(each) for each in shape)
        sizes = sizes if is_shape else None
    except TypeError:
        sizes = None
    if sizes is None:
        raise _wrong_shapes(place, value)
    if any(not isinstance(size, str) and size < 0 for size in sizes):
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


def _dims(dims: Any) -> tuple[dict[str, int], dict[str, tuple[int, int, int]]]:
    """Sizes of dimensions, and ranges of sizes of those that stay free."""
    if dims is None:
        return {}, {}
    if not isinstance(dims, Mapping):
        raise _wrong_dim("dims=", dims)
    fixed, ranges = {}, {}
    for name, value in dims.items():
        if isinstance(value, range):
            ranges[_dim_name(name)] = range_of(name, value, f"dims[{name!r}]")
        else:
            fixed[_dim_name(name)] = _size(name, value)
    return fixed, ranges


def _dim_name(name: Any) -> str:
    if not isinstance(name, str):
        raise InputError("shape-type", f"{name!r} is no name of a dimension", place="dims=")
    return name


def _size(name: str, value: Any) -> int:
    place = f"dims[{name!r}]"
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
        hint="dims={'batch': 1}, or dims={'batch': range(1, 9)} for sizes from 1 to 8",
    )
