# SPDX-License-Identifier: MIT OR Apache-2.0
"""Gives the free sizes of a program their values."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from typing import Any

from xyntra.dialects.sizes import Expr, parse
from xyntra.errors import InputError, UnsupportedError
from xyntra.frontends.torch.program import HAS_FREE_SIZE, AtenProgram, AtenTensor

__all__ = ["check_guards", "program_at", "sizes_at"]

_RELATIONS = {"==": operator.eq, "!=": operator.ne, "<": operator.lt, "<=": operator.le}


def program_at(program: AtenProgram, sizes: Mapping[str, int]) -> AtenProgram:
    """Return the program for sizes of its symbols by their names; others have the example's.

    Raises:
        InputError: `unknown-dimension`, a name is not that of a symbol.
        UnsupportedError: `free-dimension`, the program was traced for other sizes.
        ValueError: an expression cannot be read.
    """
    values = sizes_at(program, sizes)
    if not values:
        return program
    check_guards(program, values)
    sized = _Sized(values)
    return replace(
        program,
        inputs=tuple(replace(each, type=sized.type(each.type)) for each in program.inputs),
        calls=tuple(
            replace(
                call,
                arguments=sized.arguments(call.arguments),
                results=tuple(None if each is None else sized.type(each) for each in call.results),
            )
            for call in program.calls
        ),
        symbols=(),
        guards=(),
    )


def sizes_at(program: AtenProgram, sizes: Mapping[str, int]) -> dict[str, int]:
    """Return the size of each symbol by its identifier; the arguments are those of `program_at`.

    Raises:
        InputError: `unknown-dimension`, a name is not that of a symbol.
    """
    names = [each.name for each in program.symbols]
    for name in sizes:
        if name not in names:
            raise InputError(
                "unknown-dimension",
                f"the program has no free dimension '{name}'",
                cause=f"its free dimensions are {', '.join(names) or 'none'}",
                hint="dynamic_shapes= leaves dimensions free",
            )
    return {each.identifier: sizes.get(each.name, each.example) for each in program.symbols}


def check_guards(program: AtenProgram, values: Mapping[str, int]) -> None:
    """Check that the program is right for sizes, by their identifiers.

    Raises:
        UnsupportedError: `free-dimension`, PyTorch traced it for others.
    """
    for kind, left, right in program.guards:
        if not _RELATIONS[kind](_parsed(left).at(values), _parsed(right).at(values)):
            for each in program.symbols:
                left, right = (text.replace(each.identifier, each.name) for text in (left, right))
            sizes = (f"{each.name} = {values[each.identifier]}" for each in program.symbols)
            shown = ", ".join(sizes)
            raise UnsupportedError(
                "free-dimension",
                f"PyTorch traced the module for sizes with {left} {kind} {right}",
                cause=f"that does not hold for {shown}",
                hint="sizes for which it does: dims={name: range(low, high + 1, step)}",
            )


class _Sized:
    """Values of sizes, by their texts."""

    def __init__(self, known: Mapping[str, int]) -> None:
        self._known = known

    def type(self, found: AtenTensor) -> AtenTensor:
        if not found.sizes:
            return found
        return AtenTensor(found.dtype, tuple(map(self._value, found.sizes)))

    def arguments(self, given: Mapping[str, Any]) -> dict[str, Any]:
        found = {name: self.argument(value) for name, value in given.items()}
        if found != given:
            found[HAS_FREE_SIZE] = True
        return found

    def argument(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.argument(each) for each in value]
        if isinstance(value, dict) and "size" in value:
            return self._value(value["size"])
        return value

    def _value(self, text: str) -> int:
        return _parsed(text).at(self._known)


@cache
def _parsed(text: str) -> Expr:
    return parse(text)
