# SPDX-License-Identifier: MIT OR Apache-2.0
"""Divides the sizes of a model into a few classes, for each of which kernels get schedules.

A class holds the sizes whose product is at most a number: how much there is to do grows with it,
and with that the tiles that are best.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.sizes import Bounds
from xyntra.plan.free.expressions import FreeSymbol, with_defined

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
        hints: the sizes that schedules are chosen for, by identifiers.
        limit: symbols and what their product is at most; None for the last class.
    """

    word: str
    hints: dict[str, int]
    limit: tuple[tuple[str, ...], int] | None = None

    def narrowed(self, ranges: Mapping[str, Bounds]) -> dict[str, Bounds]:
        """Return the least and largest sizes of the symbols in the class, of those in all."""
        if self.limit is None:
            return dict(ranges)
        names, most = self.limit
        least = prod(max(1, ranges[name][0]) for name in names)
        return {
            name: (low, min(high, max(low, most * max(1, low) // least)) if name in names else high)
            for name, (low, high) in ranges.items()
        }


def size_classes(symbols: Sequence[FreeSymbol]) -> tuple[SizeClass, ...]:
    """Return the classes, the one of the smallest sizes first."""
    free = [each for each in symbols if not each.definition]
    least = prod(max(1, each.low) for each in free)
    largest = prod(each.high for each in free)
    found = [SizeClass("", with_defined(symbols, _sizes_of(free, largest)))]
    names = tuple(each.identifier for each in free)
    most = largest // _STEP
    while most >= max(_LEAST, least) and len(found) < _MOST:
        hints = with_defined(symbols, _sizes_of(free, most))
        found.insert(0, SizeClass(f"upto{most}", hints, (names, most)))
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
