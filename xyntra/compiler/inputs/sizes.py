# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what a caller fixes of a model: `inputs=`, `dims=`, `constants=` and the like."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

from xyntra.compiler.inputs.aliases import read_aliases
from xyntra.compiler.inputs.constants import Constants, constants_of
from xyntra.compiler.inputs.dimensions import read_dims, unknown_size
from xyntra.dialects.sizes import parse
from xyntra.errors import InputError

__all__ = ["Sizes", "sizes_of"]


@dataclass(frozen=True)
class Sizes:
    """Sizes for the free dimensions of a model, values for inputs, and where outputs lie.

    Attributes:
        shapes: shapes of inputs, by name or by `#position`.
        dims: sizes of named dimensions.
        ranges: least and largest sizes, and the step between, of dimensions that stay free.
        named: of shapes in which names of these stand, the name in each place, or "".
        relations: of dimensions that others decide, expressions of the names of these.
        constants: values of inputs, which then are none.
        values: those that other inputs have in calls, where a shape depends on them.
        aliases: inputs that outputs are written over, by the names of the outputs.
        donated: whether the caller gives these inputs up, so that an output that no kernel can
            write there has memory of its own.
    """

    shapes: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    dims: Mapping[str, int] = field(default_factory=dict)
    constants: Constants = field(default_factory=dict)
    values: Constants = field(default_factory=dict)
    aliases: Mapping[str, str] = field(default_factory=dict)
    donated: bool = False
    ranges: Mapping[str, tuple[int, int, int]] = field(default_factory=dict)
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    relations: Mapping[str, str] = field(default_factory=dict)


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
    given = read_dims(dims)
    fixed, ranges = given.fixed, given.ranges
    least = {**fixed, **{name: low for name, (low, _, _) in ranges.items()}}
    least.update({name: parse(text).at(least) for name, text in given.relations.items()})
    free = {*ranges, *given.relations}
    shapes, named = {}, {}
    for name, shape in _shapes(inputs).items():
        shapes[name] = tuple(_placed(size, name, least) for size in shape)
        names = tuple(size if isinstance(size, str) and size in free else "" for size in shape)
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
        relations=given.relations,
    )


def _placed(size: int | str, name: str, least: Mapping[str, int]) -> int:
    """A size of a shape; of a name, the size that `dims` gives it, the least one of a range."""
    if not isinstance(size, str):
        return size
    if size in least:
        return least[size]
    raise unknown_size(size, f"inputs[{name!r}]")


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
