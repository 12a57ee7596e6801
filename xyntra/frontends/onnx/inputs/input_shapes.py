# SPDX-License-Identifier: MIT OR Apache-2.0
"""Binds the free dimensions of a model's inputs to the sizes that the user gave."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import onnx

from xyntra.dialects.sizes import Expr
from xyntra.errors import InputError
from xyntra.frontends.onnx.inputs.interface import MAX_DIMENSION, Shape, declared_shape, input_dtype
from xyntra.frontends.onnx.inputs.related_sizes import related_sizes
from xyntra.suggestions import did_you_mean

__all__ = ["FIXED_BY", "BoundInput", "bind_inputs"]

FIXED_BY = "xyntra.fixed_by"
"""Attribute of an argument of `main`: what gave its sizes, as in `BoundInput`."""

Declared = list[int | str] | None


class BoundInput(NamedTuple):
    """An input whose shape is known.

    Attributes:
        name: what the model calls it.
        dtype: of its elements.
        shape: its size in every dimension.
        fixed_by: for each dimension, the argument of `compile` that gave its size, such as
            "dims['batch']"; "" where the model did.
    """

    name: str
    dtype: str
    shape: Shape
    fixed_by: tuple[str, ...]


class _Size(NamedTuple):
    """The size of a named dimension, what gave it, and that as an argument of `compile`."""

    size: int
    giver: str
    argument: str


def bind_inputs(
    inputs: Sequence[onnx.ValueInfoProto],
    shapes: Mapping[str, Sequence[int]],
    dims: Mapping[str, int] | None = None,
) -> list[BoundInput]:
    """Give every input a static shape.

    Args:
        inputs: the graph's inputs that are not initializers.
        shapes: shapes by input name or `#position`; they must agree with the model's fixed
            dimensions, and a named dimension has one size everywhere. One size alone, under a name
            that is a dimension's and not that of an input of rank 1, is the dimension's.
        dims: sizes of named dimensions. Names that are expressions of others, such as "past + seq",
            have the size that these give, unless `dims` says another one.

    Raises:
        InputError: `unknown-input`, `unknown-dimension`, `shape-mismatch` or `free-dimension`.
    """
    types = [(str(value.name), input_dtype(value), declared_shape(value)) for value in inputs]
    declared = {name: shape for name, _, shape in types}
    symbols = list(dict.fromkeys(dim for each in declared.values() for dim in _symbols(each)))
    related = related_sizes(symbols)
    symbols += sorted({each for found in related.values() for each in found.symbols} - {*symbols})
    given, sizes = _sorted_out(shapes, declared, symbols)
    for name, size in (dims or {}).items():
        _check_symbol(name, symbols, declared)
        _bind(sizes, name, _Size(size, "dims=", f"dims[{name!r}]"))
    for name, shape in given.items():
        _bind_shape(sizes, name, declared[name], shape)
    _bind_related(sizes, {name: each for name, each in related.items() if name not in (dims or {})})
    bound = [_bound(*each, given.get(each[0]), sizes) for each in types]
    if any(isinstance(dim, str) for _, _, shape, _ in bound for dim in shape):
        raise _free_dimensions(bound, declared, given)
    return [
        BoundInput(name, dtype, tuple(map(int, shape)), fixed)
        for name, dtype, shape, fixed in bound
    ]


def _symbols(declared: Declared) -> list[str]:
    return [dim for dim in declared or [] if isinstance(dim, str) and dim != "?"]


def _sorted_out(
    shapes: Mapping[str, Sequence[int]], declared: Mapping[str, Declared], symbols: Sequence[str]
) -> tuple[dict[str, Shape], dict[str, _Size]]:
    """The shapes of inputs, and the sizes of dimensions among `shapes`."""
    names = list(declared)
    given: dict[str, Shape] = {}
    sizes: dict[str, _Size] = {}
    for label, shape in shapes.items():
        name = _resolve(label, names)
        if len(shape) == 1 and name in symbols and not _has_rank_one(name, declared):
            _check_size(shape[0], f"dimension '{name}'")
            _bind(sizes, name, _Size(int(shape[0]), "its own size", f"dims[{name!r}]"))
        elif name in declared:
            given[name] = tuple(map(int, shape))
        else:
            raise _unknown_input(name, names, symbols)
    return given, sizes


def _resolve(name: str, names: Sequence[str]) -> str:
    """The input that `#position` stands for; other names stand for themselves."""
    position = name.removeprefix("#")
    if name in names or position == name or not position.isdigit():
        return name
    return names[int(position)] if int(position) < len(names) else name


def _has_rank_one(name: str, declared: Mapping[str, Declared]) -> bool:
    shape = declared.get(name, [])
    return shape is None or len(shape) == 1


def _check_symbol(name: str, symbols: Sequence[str], declared: Mapping[str, Declared]) -> None:
    if name in symbols:
        return
    hint = did_you_mean(name, symbols)
    if hint is None and name in declared:
        shape = declared[name]
        example = tuple(d if isinstance(d, int) else 1 for d in shape or [1])
        hint = f"'{name}' is an input: inputs={{{name!r}: {example}}}"
    raise InputError(
        "unknown-dimension",
        f"the model's inputs have no dimension '{name}'",
        cause=f"their named dimensions are {', '.join(symbols) or 'none'}",
        hint=hint,
    )


def _unknown_input(name: str, names: Sequence[str], symbols: Sequence[str]) -> InputError:
    named = f"; named dimensions are {', '.join(symbols)}" if symbols else ""
    return InputError(
        "unknown-input",
        f"the model has no input '{name}'",
        cause=f"its inputs are {', '.join(names) or 'none'}{named}",
        hint=did_you_mean(name, [*names, *symbols]),
    )


def _bind(sizes: dict[str, _Size], name: str, size: _Size) -> None:
    """Give the dimension `name` its size, unless it has another one."""
    _check_size(size.size, f"dimension '{name}'")
    known = sizes.setdefault(name, size)
    if known.size != size.size:
        raise InputError(
            "shape-mismatch",
            f"'{name}' is {known.size} by {known.giver}, but {size.size} by {size.giver}",
            cause="a named dimension has one size everywhere",
        )


def _bind_related(sizes: dict[str, _Size], related: Mapping[str, Expr]) -> None:
    """Give dimensions that others decide their sizes."""
    for name, expression in related.items():
        if all(each in sizes for each in expression.symbols):
            known = {each: sizes[each].size for each in sorted(expression.symbols)}
            giver = ", ".join(f"{each} = {size}" for each, size in known.items())
            argument = sizes[min(known)].argument
            _bind(sizes, name, _Size(expression.at(known), giver, argument))


def _bind_shape(sizes: dict[str, _Size], name: str, declared: Declared, given: Shape) -> None:
    for size in given:
        _check_size(size, f"input '{name}'")
    if declared is None:
        return
    if len(given) != len(declared):
        raise _mismatch(name, declared, given)
    for dim, size in zip(declared, given, strict=True):
        if isinstance(dim, int) and dim != size:
            raise _mismatch(name, declared, given)
        if isinstance(dim, str) and dim != "?":
            _bind(sizes, dim, _Size(size, f"input '{name}'", f"inputs[{name!r}]"))


def _check_size(size: int, place: str) -> None:
    if not 0 <= size <= MAX_DIMENSION:
        raise InputError("shape-mismatch", f"the size {size} is out of range", place=place)


def _mismatch(name: str, declared: Sequence[int | str], given: Shape) -> InputError:
    return InputError(
        "shape-mismatch",
        f"input '{name}' was given the shape {given}",
        cause=f"the model declares ({', '.join(map(str, declared))})",
    )


_Partly = tuple[str, str, list[int | str], tuple[str, ...]]
"""Name, dtype, shape with the names of dimensions that have no size, and what gave each."""


def _bound(
    name: str, dtype: str, declared: Declared, given: Shape | None, sizes: Mapping[str, _Size]
) -> _Partly:
    if declared is None:
        shape: list[int | str] = ["unknown rank"] if given is None else list(given)
        return name, dtype, shape, (f"inputs[{name!r}]",) * len(shape)
    found: list[int | str] = []
    fixed = []
    for position, dim in enumerate(declared):
        size = sizes.get(dim) if isinstance(dim, str) else None
        if isinstance(dim, int):
            found.append(dim)
            fixed.append("")
        elif size is not None:
            found.append(size.size)
            fixed.append(size.argument)
        else:
            found.append(dim if given is None else given[position])
            fixed.append(f"inputs[{name!r}]")
    return name, dtype, found, tuple(fixed)


def _free_dimensions(
    bound: Sequence[_Partly], declared: Mapping[str, Declared], given: Mapping[str, Shape]
) -> InputError:
    free = [each for each in bound if any(isinstance(dim, str) for dim in each[2])]
    dims = {
        dim: 1 for _, _, shape, _ in free for dim in shape if dim != "?" and isinstance(dim, str)
    }
    dims.pop("unknown rank", None)
    shapes = {
        name: tuple(dim if isinstance(dim, int) else 1 for dim in shape)
        for name, _, shape, _ in free
        if "?" in shape or declared[name] is None
    }
    options = [f"--dim {shlex.quote(f'{name}={size}')}" for name, size in dims.items()]
    options += [
        f"--shape {shlex.quote(name + '=' + 'x'.join(map(str, shape)))}"
        for name, shape in shapes.items()
    ]
    arguments = [f"{key}={value}" for key, value in (("dims", dims), ("inputs", shapes)) if value]
    return InputError(
        "free-dimension",
        "the model has free dimensions that need a size",
        place="; ".join(f"input '{n}': [{', '.join(map(str, s))}]" for n, _, s, _ in free),
        hint="\n".join(
            [f"xyntra.compile(model, {', '.join(arguments)})", " ".join(options), *_of_ranges(free)]
        ),
    )


def _of_ranges(free: Sequence[_Partly]) -> list[str]:
    """Return a line on ranges of sizes, with the first dimension that is free."""
    name, _, shape, _ = free[0]
    named = [dim for dim in shape if isinstance(dim, str) and dim not in ("?", "unknown rank")]
    if named:
        option = shlex.quote(f"{named[0]}=1:32")
        return [f"one compilation for many: dims={{{named[0]!r}: range(1, 33)}}, --dim {option}"]
    if "?" not in shape:
        return []
    own = tuple("n" if dim == "?" else dim for dim in shape)
    return [f"one compilation for many: inputs={{{name!r}: {own}}}, dims={{'n': range(1, 33)}}"]
