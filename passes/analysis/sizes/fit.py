# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the expression of which numbers at samples of sizes are the values."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations, combinations_with_replacement

from xyntra.dialects.sizes import Expr, constant, symbol

__all__ = ["Fitter"]

_DEGREE = 5  # as scores of attention over pixels have: a batch and both sizes squared
_SUMMED = 3  # of products in sums
_MOST_POWER = 2
_UNITS = (1, 2, 4, 8, 16, 32)
_MOST_PADDED = 8


class Fitter:
    """Finds expressions, and remembers them: sizes are often products of others.

    Args:
        samples: the sizes of the symbols, no two of which are in a simple relation.
    """

    def __init__(self, samples: Sequence[Mapping[str, int]]) -> None:
        self._samples = samples
        self._found: dict[tuple[int, ...], Expr] = {}
        products = list(_products(list(samples[0])))
        self._products = [(each, [each.at(sample) for sample in samples]) for each in products]
        self._padded = [
            (each, tuple(each.at(sample) for sample in samples)) for each in _padded(samples[0])
        ]
        self._summed = [each for each in self._products if len(each[0].terms[0][0]) <= _SUMMED]

    def fit(self, values: Sequence[int]) -> Expr | None:
        """Return an expression with these values; None where none of few terms has them.

        One product with a number added, a sum of two products or of two sizes and a number, or such
        a one times what has been found before, or times a size with padding: there have to be more
        samples than these have unknowns, so that each is also checked.

        Args:
            values: one for each sample.
        """
        key = tuple(values)
        found = self._found.get(key)
        if found is None:
            found = self._simple(values) or self._multiple(values)
            if found is not None and found.number is None:
                self._found[key] = found
        return found

    def fit_quotients(self, values: Sequence[float], rounding: float) -> tuple[Expr, float] | None:
        """Return a product of sizes, and the number that it divides; None where there is none.

        Args:
            values: one for each sample.
            rounding: how far, relative to them, they may be off.
        """
        for product, at in self._products:
            dividends = [value * size for value, size in zip(values, at, strict=True)]
            first = dividends[0]
            if first and all(abs(each - first) <= rounding * abs(first) for each in dividends):
                return product, first
        return None

    def _simple(self, values: Sequence[int]) -> Expr | None:
        first = values[0]
        if all(value == first for value in values):
            return constant(first)
        for product, at in self._products:
            factor, rest = divmod(first, at[0])
            if not rest and [factor * each for each in at] == list(values):
                return constant(factor) * product
        for product, at in self._products:
            found = _line(values, at)
            if found is not None:
                factor, start = found
                return constant(factor) * product + constant(start)
        return _two_products(values, self._summed) or self._shifted_sum(values)

    def _shifted_sum(self, values: Sequence[int]) -> Expr | None:
        """Return the sum of two sizes and a number, such as the place of the last of both."""
        single = [each for each in self._products if len(each[0].terms[0][0]) == 1]
        for (one, x), (other, y) in combinations(single, 2):
            rest = {value - a - b for value, a, b in zip(values, x, y, strict=True)}
            if len(rest) == 1:
                return one + other + constant(rest.pop())
        return None

    def _multiple(self, values: Sequence[int]) -> Expr | None:
        others = [(known, divisors) for divisors, known in self._found.items()]
        for known, divisors in (*others, *self._padded):
            pairs = list(zip(values, divisors, strict=True))
            if all(each and not value % each for value, each in pairs):
                found = self._simple([value // each for value, each in pairs])
                if found is not None:
                    return known * found
        return None


def _padded(names: Iterable[str]) -> Iterator[Expr]:
    """Yield sizes of images with padding: these are factors of the sizes of buffers."""
    for name in names:
        for unit in _UNITS:
            for more in range(1, _MOST_PADDED + 1):
                yield constant(unit) * symbol(name) + constant(more)


def _line(values: Sequence[int], at: Sequence[int]) -> tuple[int, int] | None:
    """Return a factor and a number to add with which `at` becomes `values`."""
    if len(values) < 3 or at[0] == at[1]:
        return None
    factor, rest = divmod(values[1] - values[0], at[1] - at[0])
    start = values[0] - factor * at[0]
    fits = not rest and [factor * each + start for each in at] == list(values)
    return (factor, start) if fits else None


def _two_products(
    values: Sequence[int], known: Sequence[tuple[Expr, Sequence[int]]]
) -> Expr | None:
    if len(values) < 4:
        return None
    for number, (one, x) in enumerate(known):
        for other, y in known[:number]:
            determinant = x[0] * y[1] - x[1] * y[0]
            if not determinant:
                continue
            a, rest = divmod(values[0] * y[1] - values[1] * y[0], determinant)
            b, left = divmod(x[0] * values[1] - x[1] * values[0], determinant)
            pairs = zip(x, y, values, strict=True)
            if not rest and not left and all(a * p + b * q == value for p, q, value in pairs):
                return constant(a) * one + constant(b) * other
    return None


def _products(names: Sequence[str]) -> Iterator[Expr]:
    """Yield the products of few symbols, short ones first."""
    for degree in range(1, _DEGREE + 1):
        for chosen in combinations_with_replacement(names, degree):
            if max(chosen.count(name) for name in chosen) <= _MOST_POWER:
                total = constant(1)
                for name in chosen:
                    total *= symbol(name)
                yield total
