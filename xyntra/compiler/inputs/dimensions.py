# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads `dims=`: sizes of named dimensions, ranges of sizes, and relations between them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from operator import index
from typing import Any

from xyntra.dialects.sizes import Expr, constant, parse
from xyntra.errors import InputError

__all__ = ["Dimensions", "range_of", "read_dims", "unknown_size"]


@dataclass(frozen=True)
class Dimensions:
    """What `dims=` says.

    Attributes:
        fixed: sizes by name.
        ranges: of dimensions that stay free, the least and largest size, and the step between.
        relations: of dimensions that these decide, expressions of their names.
    """

    fixed: dict[str, int]
    ranges: dict[str, tuple[int, int, int]]
    relations: dict[str, str]


def read_dims(dims: Any) -> Dimensions:
    """Read sizes, ranges and expressions by name.

    Raises:
        InputError: `dims` holds something else, or an expression has a name without a size.
    """
    found = Dimensions({}, {}, {})
    if dims is None:
        return found
    if not isinstance(dims, Mapping):
        raise _wrong_dim("dims=", dims)
    texts: dict[str, Expr] = {}
    for name, value in dims.items():
        if isinstance(value, range):
            found.ranges[_dim_name(name)] = range_of(name, value, f"dims[{name!r}]")
        elif isinstance(value, str):
            texts[_dim_name(name)] = _relation(name, value)
        else:
            found.fixed[_dim_name(name)] = _size(name, value)
    known = {name: constant(size) for name, size in found.fixed.items()}
    for name, expression in texts.items():
        relation = expression.replaced(known)
        if unknown := relation.symbols - set(found.ranges):
            raise unknown_size(min(unknown), f"dims[{name!r}]")
        if relation.number is None:
            found.relations[name] = str(relation)
        else:
            found.fixed[name] = _size(name, relation.number)
    return found


def unknown_size(name: str, place: str) -> InputError:
    """Return the error for a name that `dims` gives no size."""
    return InputError(
        "unknown-dimension",
        f"the size of '{name}' is not given",
        place=place,
        hint=f"dims={{{name!r}: range(1, 513)}}, or dims={{{name!r}: 128}}",
    )


def _relation(name: str, text: str) -> Expr:
    try:
        found = parse(text)
        if not found.symbols:
            raise ValueError("it names no other dimension")
        return found
    except ValueError as error:
        raise InputError(
            "shape-type",
            f"{text!r} is no expression of sizes",
            place=f"dims[{name!r}]",
            cause=str(error),
            hint="sums and products of names and numbers: dims={'total': 'past + seq'}",
        ) from None


def range_of(name: str, sizes: range, place: str) -> tuple[int, int, int]:
    """The least and the largest size of a range, and the step between.

    Raises:
        InputError: `dimension-range`, it is empty, or has sizes below 0 or no other than 0.
    """
    if not sizes or sizes[0] < 0 or sizes[-1] < 1 or sizes.step < 1:
        raise InputError(
            "dimension-range",
            f"'{name}' cannot have the sizes {sizes}",
            place=place,
            cause="the sizes of a dimension are 0 or more, not 0 alone, in rising order",
            hint=f"dims={{{name!r}: range(1, 513)}} has sizes from 1 to 512",
        )
    return sizes[0], sizes[-1], sizes.step


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
