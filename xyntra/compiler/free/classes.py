# SPDX-License-Identifier: MIT OR Apache-2.0
"""Divides the sizes of a model into a few classes, for each of which kernels get schedules.

A class holds the sizes whose product is at most a number: how much there is to do grows with it,
and with that the tiles that are best.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.sizes import constant, symbol
from xyntra.plan.free.expressions import FreeSymbol, Guard, with_defined

__all__ = ["SizeClass", "size_classes"]

_STEP = 8
"""The largest product of a class, in that of the class below."""
_MOST = 3
_LEAST = 4
"""A product up to which there is no class by itself."""


@dataclass(frozen=True)
class SizeClass:
    """The sizes of a class.

    Attributes:
        word: its name; "" for the last class, which has all sizes.
        guards: what holds of them.
        hints: the sizes that schedules are chosen for, by identifiers.
    """

    word: str
    guards: tuple[Guard, ...]
    hints: dict[str, int]


def size_classes(symbols: Sequence[FreeSymbol]) -> tuple[SizeClass, ...]:
    """Return the classes, the one of the smallest sizes first."""
    free = [each for each in symbols if not each.definition]
    product = constant(1)
    for each in free:
        product *= symbol(each.identifier)
    least = prod(max(1, each.low) for each in free)
    largest = prod(each.high for each in free)
    found = [SizeClass("", (), with_defined(symbols, _sizes_of(free, largest)))]
    most = largest // _STEP
    while most >= max(_LEAST, least) and len(found) < _MOST:
        guard = "<=", str(product), str(most)
        hints = with_defined(symbols, _sizes_of(free, most))
        found.insert(0, SizeClass(f"upto{most}", (guard,), hints))
        most //= _STEP
    return tuple(found)


def _sizes_of(symbols: Sequence[FreeSymbol], most: int) -> dict[str, int]:
    """Return sizes whose product is about `most`: usual ones where that is enough."""
    left = most // prod(max(1, each.low) for each in symbols)
    found = {each.identifier: max(1, each.low) for each in symbols}
    by_range = sorted(symbols, key=lambda each: -each.high)
    usual = [(each, each.hint) for each in by_range]
    for turn in (usual, [(each, each.high) for each in reversed(by_range)]):
        for each, limit in turn:
            own = found[each.identifier]
            wanted = max(own, min(limit, own * left))
            size = each.low + (wanted - each.low) // each.step * each.step
            left = left * own // max(size, 1)
            found[each.identifier] = size
    return found
