# SPDX-License-Identifier: MIT OR Apache-2.0
"""The ways to read an expression as a product or as a sum of parts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import ceil

from xyntra.passes.recognize.matching.expressions import Expression, Read

__all__ = ["ChainSplit", "Parts", "products", "sums"]

Parts = tuple[tuple[Read, float], ...]
"""What is read, each with its exponent or sign."""

_LARGEST_POWER = 8
_CONSTANTS = 3
"""How many operations with a constant a chain may have, beside those that join its parts."""


@dataclass(frozen=True, slots=True)
class ChainSplit:
    """One way: the number, the parts with exponents (or signs), and the operations between."""

    number: float
    parts: Parts
    between: tuple[Expression, ...]


def products(
    read: Read, budget: int, exponent: float = 1, depth: int | None = None
) -> Iterator[ChainSplit]:
    """Yield the ways to see `read ** exponent` as number * parts ** exponents.

    A way whose exponents, in magnitude and rounded up, add up to more than `budget` is left out.
    """
    source = read.source
    left = budget + _CONSTANTS if depth is None else depth
    if source.number is not None:
        if source.number or exponent > 0:
            yield ChainSplit(float(source.number) ** exponent, (), ())
        return
    if ceil(abs(exponent)) <= budget:
        yield ChainSplit(1.0, ((read, exponent),), ())
    if exponent != int(exponent) or not left:
        return
    opcode = source.opcode
    if opcode in ("mul", "div"):
        powers = (exponent, exponent if opcode == "mul" else -exponent)
        yield from _joined(read, powers, budget, left - 1)
    elif opcode == "neg":
        for cut in products(_inner(read)[0], budget, exponent, left - 1):
            sign = -1 if exponent % 2 else 1
            yield ChainSplit(sign * cut.number, cut.parts, (source, *cut.between))
    elif opcode in ("sqrt", "rsqrt") and abs(exponent) == 1 and budget > 0:
        half = 0.5 * exponent if opcode == "sqrt" else -0.5 * exponent
        yield ChainSplit(1.0, ((_inner(read)[0], half),), (source,))
    elif opcode == "pow":
        yield from _powers(read, budget, exponent, left - 1)


def _powers(read: Read, budget: int, exponent: float, depth: int) -> Iterator[ChainSplit]:
    base, power = _inner(read)
    number = power.source.number
    if number is None or number != int(number) or not 0 < abs(number) <= _LARGEST_POWER:
        return
    for cut in products(base, budget, exponent * number, depth):
        yield ChainSplit(cut.number, cut.parts, (read.source, *cut.between))


def _joined(
    read: Read, powers: tuple[float, float], budget: int, depth: int
) -> Iterator[ChainSplit]:
    left, right = _inner(read)
    for first in products(left, budget, powers[0], depth):
        rest = budget - sum(ceil(abs(power)) for _, power in first.parts)
        for second in products(right, rest, powers[1], depth):
            between = (read.source, *first.between, *second.between)
            parts = _merged(first.parts + second.parts)
            yield ChainSplit(first.number * second.number, parts, between)


def _merged(parts: Parts) -> Parts:
    """Equal factors as one, with the sum of their exponents."""
    found: list[tuple[Read, float]] = []
    for read, power in parts:
        for index, (known, sum_) in enumerate(found):
            if known.source is read.source and known.dims == read.dims:
                found[index] = known, sum_ + power
                break
        else:
            found.append((read, power))
    return tuple(found)


def sums(read: Read, budget: int, sign: int = 1, depth: int | None = None) -> Iterator[ChainSplit]:
    """Yield the ways to see `sign * read` as number + signs * parts, of at most `budget` parts."""
    source = read.source
    left = budget + _CONSTANTS if depth is None else depth
    if source.number is not None:
        yield ChainSplit(sign * float(source.number), (), ())
        return
    if budget > 0:
        yield ChainSplit(0.0, ((read, sign),), ())
    if not left or source.opcode not in ("add", "sub", "neg"):
        return
    if source.opcode == "neg":
        for cut in sums(_inner(read)[0], budget, -sign, left - 1):
            yield ChainSplit(cut.number, cut.parts, (source, *cut.between))
        return
    signs = (sign, sign if source.opcode == "add" else -sign)
    first, second = _inner(read)
    for a in sums(first, budget, signs[0], left - 1):
        for b in sums(second, budget - len(a.parts), signs[1], left - 1):
            yield ChainSplit(
                a.number + b.number, a.parts + b.parts, (source, *a.between, *b.between)
            )


def _inner(read: Read) -> tuple[Read, ...]:
    return tuple(operand.through(read.dims) for operand in read.source.operands)
