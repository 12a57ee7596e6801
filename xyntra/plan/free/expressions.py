# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a plan says of free dimensions: the expressions of what changes with them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any

from xyntra.dialects.sizes import Expr, parse

__all__ = ["FreeSizes", "FreeSymbol", "Guard", "KernelVariants", "named_text", "with_defined"]

Guard = tuple[str, str, str]


@dataclass(frozen=True)
class FreeSymbol:
    """A dimension that is free.

    Attributes:
        name: what the model, or the user, calls it.
        identifier: what expressions call it.
        low, high: its least and largest value.
        step: values are `low` and any number of steps more.
        hint: a usual value, for which estimates are made.
        shown: the value that the shapes and costs of the plan are for.
        definition: of a size that others decide, such as the sum of two, the expression of these,
            which come before it; "" for one that is free by itself.
        unit: the size of the dimension is so many times the value. With one of 32, a half or an
            eighth of the size is exact, as strides of convolutions need.
    """

    name: str
    identifier: str
    low: int
    high: int
    step: int
    hint: int
    shown: int
    definition: str = ""
    unit: int = 1

    @property
    def values(self) -> range:
        """All values that it may have."""
        return range(self.low, self.high + 1, self.step)

    @property
    def sizes(self) -> range:
        """All sizes that the dimension may have."""
        return range(self.low * self.unit, self.high * self.unit + 1, self.step * self.unit)


def with_defined(symbols: Sequence[FreeSymbol], sizes: Mapping[str, int]) -> dict[str, int]:
    """Return sizes, by identifiers, with those that they decide, in the order of the symbols."""
    found: dict[str, int] = {}
    for each in symbols:
        own = parse(each.definition).at(found) if each.definition else sizes[each.identifier]
        found[each.identifier] = own
    return found


def named_text(expression: Expr, symbols: Sequence[FreeSymbol]) -> str:
    """Return an expression as users read it, in the names of the symbols."""
    text = str(expression)
    names = {}
    for each in symbols:
        names[each.identifier] = each.name if each.unit == 1 else f"({each.name}/{each.unit})"
        if each.unit > 1:
            text = re.sub(rf"\b{each.unit}\*{each.identifier}\b", f"@{each.identifier}", text)
            names[f"@{each.identifier}"] = each.name
    return re.sub(r"@?[A-Za-z_]\w*", lambda found: names.get(found[0], found[0]), text)


@dataclass(frozen=True)
class KernelVariants:
    """The variants of a kernel that is told its sizes.

    Attributes:
        name: of the kernel in steps.
        variants: names of kernels, in order of preference.
        words: of each, how it differs from the first, such as "rows1".
        sizes: of each, the expressions of the elements of its array of sizes, its last input, or of
            what its launches are told by value.
        guards: of each, what has to hold: "<" or "<=", and two expressions.
    """

    name: str
    variants: tuple[str, ...]
    words: tuple[str, ...]
    sizes: tuple[tuple[str, ...], ...]
    guards: tuple[tuple[Guard, ...], ...]


@dataclass(frozen=True)
class FreeSizes:
    """The sizes of a plan.

    Attributes:
        symbols: the dimensions that are free.
        shapes: of each input, output and requirement, the expression of each dimension.
        nbytes: of each buffer, the expression of its size.
        kernels: the kernels that are told their sizes.
        words: elements of an array of sizes; 0 where kernels take sizes by value.
    """

    symbols: tuple[FreeSymbol, ...]
    shapes: tuple[tuple[str, ...], ...]
    nbytes: tuple[str, ...]
    kernels: tuple[KernelVariants, ...]
    words: int

    @cached_property
    def _expressions(self) -> dict[str, Expr]:
        texts = {text for shape in self.shapes for text in shape} | set(self.nbytes)
        for kernel in self.kernels:
            texts |= {text for sizes in kernel.sizes for text in sizes}
            texts |= {text for guards in kernel.guards for guard in guards for text in guard[1:]}
        return {text: parse(text) for text in texts}

    def expression(self, text: str) -> Expr:
        """Return one of the expressions."""
        return self._expressions[text]

    def values(self, sizes: Mapping[str, int]) -> dict[str, int]:
        """Return the value of every expression, by its text, for sizes of the symbols."""
        return {text: each.at(sizes) for text, each in self._expressions.items()}

    def to_json(self) -> dict[str, Any]:
        """Return JSON-ready data."""
        return asdict(self)

    @classmethod
    def from_json(cls, data: dict[str, Any]) -> FreeSizes:
        """Rebuild what `to_json` described.

        Raises:
            AttributeError, KeyError, TypeError or ValueError: it is something else.
        """
        return cls(
            _symbols(data["symbols"]),
            tuple(tuple(map(str, shape)) for shape in data["shapes"]),
            tuple(map(str, data["nbytes"])),
            tuple(_kernel(each) for each in data["kernels"]),
            int(data["words"]),
        )


def _symbols(entries: Sequence[Mapping[str, Any]]) -> tuple[FreeSymbol, ...]:
    found: list[FreeSymbol] = []
    for each in map(_symbol, entries):
        names = parse(each.definition).symbols if each.definition else frozenset()
        if not names <= {other.identifier for other in found}:
            raise ValueError("a size is defined by others that come later")
        found.append(each)
    return tuple(found)


def _symbol(entry: Mapping[str, Any]) -> FreeSymbol:
    numbers = (int(entry[name]) for name in ("low", "high", "step", "hint", "shown"))
    low, high, step, hint, shown = numbers
    if not 0 <= low <= high or high < 1 or step < 1:
        raise ValueError("a free dimension has no sizes")
    names = str(entry["name"]), str(entry["identifier"])
    unit = int(entry["unit"])
    if unit < 1:
        raise ValueError("a free dimension has no sizes")
    return FreeSymbol(*names, low, high, step, hint, shown, str(entry["definition"]), unit)


def _kernel(entry: Mapping[str, Any]) -> KernelVariants:
    guards = tuple(
        tuple((str(kind), str(left), str(right)) for kind, left, right in each)
        for each in entry["guards"]
    )
    sizes = tuple(tuple(map(str, each)) for each in entry["sizes"])
    variants, words = tuple(map(str, entry["variants"])), tuple(map(str, entry["words"]))
    if not len(variants) == len(words) == len(sizes) == len(guards) > 0:
        raise ValueError("the variants of a kernel are not complete")
    return KernelVariants(str(entry["name"]), variants, words, sizes, guards)
