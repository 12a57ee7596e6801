# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a kernel down at sizes that are no samples, from its text at a sample and what agreed.

Code that is made there has to be the same: what an emitter unrolls by a size, say, may come out
alike at samples, which are close to each other.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from xyntra.dialects.sizes import Bounds, Expr, parse
from xyntra.passes.analysis.sizes.agreement import Agreement
from xyntra.passes.analysis.sizes.session import Guard

__all__ = ["far_sizes", "holds", "numbers_at", "text_at"]

_NUMBER = re.compile(r'(?<![a-wyzA-Z0-9_.%#@^"])(?<!e[+-])(\d+)(?=x|[^\w.]|$)(?!\s*=)')
_SCALAR = "= arith.constant "
"""Scalar constants that are sizes are told, wherever else their numbers stand."""
_LEAST = 11
_EACH = 6
"""Sizes of a symbol that are tried."""


def far_sizes(
    agreement: Agreement, ranges: Mapping[str, Bounds], guards: Sequence[Guard]
) -> Iterator[dict[str, int]]:
    """Yield sizes for which guards hold, the smallest and the largest that can be told apart.

    Their expressions have values that are no other numbers of the kernel, nor each other's.
    """
    choices = [[(name, size) for size in _spread(*bounds)] for name, bounds in ranges.items()]
    found = []
    for chosen in product(*choices):
        sizes = dict(chosen)
        if holds(guards, sizes) and _are_told_apart(agreement, sizes):
            found.append(sizes)
    if found:
        yield found[0]
    if len(found) > 1:
        yield found[-1]


def holds(guards: Sequence[Guard], sizes: Mapping[str, int]) -> bool:
    """Tell whether guards hold for sizes of the symbols."""
    for kind, left, right in guards:
        one, other = parse(left).at(sizes), parse(right).at(sizes)
        if not (one < other if kind == "<" else one <= other):
            return False
    return True


def numbers_at(agreement: Agreement, sizes: Mapping[str, int]) -> dict[int, Expr]:
    """Return the expressions of the numbers that are sizes there."""
    return {each.at(sizes): each for each in agreement.numbers[0].values()}


def text_at(text: str, agreement: Agreement, sizes: Mapping[str, int]) -> str:
    """Return the text of a kernel at other sizes, from that at the first sample."""
    numbers = agreement.numbers[0]

    def replaced(match: re.Match[str]) -> str:
        expression = numbers.get(int(match[0]))
        return match[0] if expression is None else str(expression.at(sizes))

    lines = text.splitlines(keepends=True)
    return "".join(each if _SCALAR in each else _NUMBER.sub(replaced, each) for each in lines)


def _are_told_apart(agreement: Agreement, sizes: Mapping[str, int]) -> bool:
    expressions = set(agreement.numbers[0].values())
    values = {each.at(sizes) for each in expressions}
    return len(values) == len(expressions) and values.isdisjoint(agreement.fixed)


def _spread(low: int, high: int) -> list[int]:
    """Return a few sizes of a range: primes where there are some."""
    sizes = range(max(low, min(_LEAST, high)), high + 1)
    primes = [n for n in sizes if all(n % d for d in range(2, int(n**0.5) + 1))] or list(sizes)
    step = max(1, (len(primes) - 1) // (_EACH - 1))
    return sorted({*primes[::step][: _EACH - 1], primes[-1]})
