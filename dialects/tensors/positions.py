# SPDX-License-Identifier: MIT OR Apache-2.0
"""Positions in a tensor as sums of digits of loop counters.

Composing views (reshapes, transposes, slices, broadcasts) gives positions such as
`768 + 64 * h + d`, and `h floordiv 4` where four query heads share a key. All of them are sums of
constant multiples of digits, a digit being a loop counter's digit in a mixed radix. Knowing the
range of every digit, division and remainder by a constant stay such sums wherever the views line
up, which `affine_map` alone cannot tell, as it does not know the extents of the loops.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from xyntra.dialects.mlir import ir

__all__ = ["Digit", "Position", "compose", "parse_map", "to_map"]


class Digit(NamedTuple):
    """`(loop floordiv divisor) mod extent`, which runs from 0 to `extent` - 1."""

    loop: int
    divisor: int
    extent: int


@dataclass(frozen=True)
class Position:
    """`constant` plus the sum of each digit times its coefficient, which is not zero."""

    terms: tuple[tuple[Digit, int], ...] = ()
    constant: int = 0

    @staticmethod
    def of_loop(loop: int, extent: int) -> Position:
        """The counter of a loop; 0 where the loop runs once."""
        return Position(((Digit(loop, 1, extent), 1),)) if extent > 1 else Position()

    @property
    def last(self) -> int:
        """The largest value."""
        return self.constant + sum(max(0, (d.extent - 1) * factor) for d, factor in self.terms)

    @property
    def first(self) -> int:
        """The smallest value."""
        return self.constant + sum(min(0, (d.extent - 1) * factor) for d, factor in self.terms)

    @property
    def loops(self) -> set[int]:
        """The loops that it moves with."""
        return {digit.loop for digit, _ in self.terms}

    def __add__(self, other: Position | int) -> Position:
        if isinstance(other, int):
            return Position(self.terms, self.constant + other)
        if not self.terms:
            return Position(other.terms, self.constant + other.constant)
        if not other.terms:
            return Position(self.terms, self.constant + other.constant)
        return _position([*self.terms, *other.terms], self.constant + other.constant)

    def __mul__(self, factor: int) -> Position:
        if factor == 1:
            return self
        terms = ((digit, coefficient * factor) for digit, coefficient in self.terms if factor)
        return Position(tuple(terms), self.constant * factor)

    def split(self, divisor: int) -> tuple[Position, Position] | None:
        """Quotient and remainder by a positive constant, or None where they are no such sums."""
        if any(factor < 0 for _, factor in self.terms):
            return None
        if self.constant >= 0 and self.last < divisor:
            return Position(), self
        high: list[tuple[Digit, int]] = []
        low: list[tuple[Digit, int]] = []
        for digit, factor in self.terms:
            quotient, rest = divmod(factor, divisor)
            high.append((digit, quotient))
            parts = _split_digit(digit, rest, divisor)
            if parts is None:
                return None
            high += parts[0]
            low += parts[1]
        quotient, rest = divmod(self.constant, divisor)
        remainder = _position(low, rest)
        return (_position(high, quotient), remainder) if remainder.last < divisor else None

    def substitute(self, loops: Mapping[int, Position]) -> Position | None:
        """The position where every loop counter is one of `loops`; None where it is no such sum."""
        total = Position(constant=self.constant)
        for digit, factor in self.terms:
            value: Position | None = loops[digit.loop]
            if value is not None and digit.divisor > 1:
                parts = value.split(digit.divisor)
                value = parts[0] if parts else None
            if value is not None and value.last >= digit.extent:
                parts = value.split(digit.extent)
                value = parts[1] if parts else None
            if value is None:
                return None
            total += value * factor
        return total


Term = tuple[Digit, int]


def _split_digit(digit: Digit, factor: int, divisor: int) -> tuple[list[Term], list[Term]] | None:
    """Split `digit * factor`, with `factor` below `divisor`, into multiples and a remainder."""
    if not factor:
        return [], []
    if (digit.extent - 1) * factor < divisor:
        return [], [(digit, factor)]
    if divisor % factor or digit.extent % (divisor // factor):
        return None
    size = divisor // factor
    upper = Digit(digit.loop, digit.divisor * size, digit.extent // size)
    return [(upper, 1)], [(Digit(digit.loop, digit.divisor, size), factor)]


def _position(terms: Iterable[Term], constant: int) -> Position:
    """Sum up equal digits, drop those that stay 0, and join neighbouring digits of a loop."""
    total: dict[Digit, int] = {}
    for digit, factor in terms:
        if int(digit.extent) > 1:
            total[digit] = total.get(digit, 0) + factor
    kept = {digit: factor for digit, factor in total.items() if factor}
    if len({digit.loop for digit in kept}) == len(kept):
        return Position(tuple(sorted(kept.items())), constant)
    while pair := _neighbours(kept):
        upper, lower = pair
        joined = Digit(lower.loop, lower.divisor, lower.extent * upper.extent)
        factor = kept.pop(lower)
        del kept[upper]
        kept[joined] = kept.get(joined, 0) + factor
    return Position(tuple(sorted(kept.items())), constant)


def _neighbours(terms: Mapping[Digit, int]) -> tuple[Digit, Digit] | None:
    for lower, factor in terms.items():
        for upper, larger in terms.items():
            follows = upper.loop == lower.loop and upper.divisor == lower.divisor * lower.extent
            if follows and larger == factor * lower.extent:
                return upper, lower
    return None


def compose(
    positions: Sequence[Position], loops: Mapping[int, Position]
) -> tuple[Position, ...] | None:
    """Substitute `loops` in every position; None where one of them is no sum of digits."""
    found = [position.substitute(loops) for position in positions]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def parse_map(map_: ir.AffineMap, extents: Sequence[int]) -> tuple[Position, ...] | None:
    """The results of an affine map over loops of `extents`; None where one is no sum of digits."""
    found = [_parse(expression, extents) for expression in map_.results]
    known = tuple(each for each in found if each is not None)
    return known if len(known) == len(found) else None


def _parse(expression: ir.AffineExpr, extents: Sequence[int]) -> Position | None:
    if isinstance(expression, ir.AffineDimExpr):
        return Position.of_loop(expression.position, extents[expression.position])
    if isinstance(expression, ir.AffineConstantExpr):
        return Position(constant=int(expression.value))
    if not isinstance(
        expression, (ir.AffineAddExpr, ir.AffineMulExpr, ir.AffineFloorDivExpr, ir.AffineModExpr)
    ):
        return None
    left, right = _parse(expression.lhs, extents), _parse(expression.rhs, extents)
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if right.terms:
        return None
    if isinstance(expression, ir.AffineMulExpr):
        return left * right.constant
    parts = left.split(right.constant) if right.constant > 0 else None
    if parts is None:
        return None
    return parts[0] if isinstance(expression, ir.AffineFloorDivExpr) else parts[1]


def to_map(positions: Sequence[Position], extents: Sequence[int]) -> ir.AffineMap:
    """The affine map over loops of `extents` with `positions` as its results."""
    results = [_to_expression(position, extents) for position in positions]
    return ir.AffineMap.get(len(extents), 0, results)


def _to_expression(position: Position, extents: Sequence[int]) -> ir.AffineExpr:
    total: ir.AffineExpr = ir.AffineConstantExpr.get(position.constant)
    for digit, factor in position.terms:
        value: ir.AffineExpr = ir.AffineDimExpr.get(digit.loop)
        if digit.divisor > 1:
            value = ir.AffineExpr.get_floor_div(value, digit.divisor)
        if digit.divisor * digit.extent < extents[digit.loop]:
            value = ir.AffineExpr.get_mod(value, digit.extent)
        total = total + value * factor
    return total
