# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes code of a kernel at several sizes, which has to come out the same.

Beside samples these are the smallest and the largest sizes that the code is for: what an emitter
unrolls by a size, say, may come out alike at samples, which are close to each other. There the
kernel is written down from its text at a sample and the sizes that agreed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, product
from math import log
from types import MappingProxyType
from typing import TypeVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.sizes import Bounds, Expr, ProductLimit, parse
from xyntra.errors import CompileError
from xyntra.passes.analysis.sizes.agreement import Agreement
from xyntra.passes.analysis.sizes.session import Guard, not_free

__all__ = [
    "KernelAtSizes",
    "far_sizes",
    "holds",
    "made_alike",
    "near_sizes",
    "numbers_at",
    "numbers_in",
    "text_at",
]

Code = TypeVar("Code")
_NUMBER = re.compile(r'(?<![a-wyzA-Z0-9_.%#@^"])(?<!e[+-])(\d{1,18})(?=x|[^\w.]|$)(?!\s*=)')
_SCALAR = re.compile(r"= arith\.constant [^<]*$")
"""Scalar constants that are sizes are told, wherever else their numbers stand."""
_LEAST = 11
_EACH = 6
"""Sizes of a symbol that are looked at."""
_LOOKED_AT, _STARTS = 600, 2
"""Combinations of sizes near usual ones, and how many of them code is made at."""
_RATIO, _POWERS, _CLOSE = 1.2, 24, 4
"""Between sizes near a usual one, how many are tried on either side, and how many next to it."""
_TRIED = 4
"""Combinations of these, from either end, at which code is made until one tells something."""


@dataclass(frozen=True)
class KernelAtSizes:
    """A kernel at given sizes.

    Attributes:
        module: the kernel.
        sizes: of the symbols.
        numbers: the expressions of the numbers that are sizes there.
    """

    module: ir.Operation
    sizes: Mapping[str, int]
    numbers: Mapping[int, Expr]


def made_alike(
    samples: Sequence[KernelAtSizes],
    agreement: Agreement,
    ranges: Mapping[str, Bounds],
    definitions: Mapping[str, str],
    make: Callable[[KernelAtSizes], tuple[Code, tuple[Guard, ...]]],
    near: Sequence[Mapping[str, int]] = (),
) -> tuple[Code, tuple[Guard, ...]]:
    """Return the code that all sizes have in common which its guards allow, and these.

    Args:
        samples: the kernel at samples, two or more.
        agreement: what these have in common.
        ranges: the least and the largest size of each symbol.
        definitions: of those that others decide, expressions of these.
        make: makes code, and may use up the module.
        near: sizes at which code is made instead of at samples, if that succeeds: guards say what
            holds where it is made, so that this is where it should be used.

    Raises:
        CompileError: `kernel-not-free`, the code depends on a size in a way that is not recorded.
        MLIRError: `make` failed.
    """
    module = samples[0].module
    text, context = module.get_asm(use_local_scope=True), module.context

    def instance(sizes: Mapping[str, int]) -> KernelAtSizes:
        with context:
            found = ir.Module.parse(text_at(text, agreement, sizes)).operation
        return KernelAtSizes(found, sizes, numbers_at(agreement, sizes))

    if len(near) > 1:
        try:
            return _made(list(map(instance, near)), instance, agreement, ranges, definitions, make)
        except CompileError:
            pass  # at samples, another question may have another answer
    return _made(samples, instance, agreement, ranges, definitions, make)


def _made(
    starts: Sequence[KernelAtSizes],
    instance: Callable[[Mapping[str, int]], KernelAtSizes],
    agreement: Agreement,
    ranges: Mapping[str, Bounds],
    definitions: Mapping[str, str],
    make: Callable[[KernelAtSizes], tuple[Code, tuple[Guard, ...]]],
) -> tuple[Code, tuple[Guard, ...]]:
    """As `made_alike`, at given sizes and at the ends of what guards allow there."""
    first, *others = starts
    made = make(first)
    far = far_sizes(agreement, ranges, made[1], definitions)
    for each in others[:1] if far else others:
        if make(each) != made:
            raise _differ()
    for end in (far, far[::-1]):
        left = end
        for _ in range(_TRIED):
            if not left:
                break
            other = make(instance(left[0]))
            if other == made:
                break
            more = [guard for guard in other[1] if guard not in made[1]]
            if not more:
                raise _differ()
            # What is equal here alone had it made in a simpler way: where that is so tells nothing.
            left = [each for each in left if not holds(more, each)]
        else:
            raise _differ()
    return made


def _differ() -> CompileError:
    return not_free("its code depends on the sizes in a way that is not known")


def far_sizes(
    agreement: Agreement,
    ranges: Mapping[str, Bounds],
    guards: Sequence[Guard],
    definitions: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, int]]:
    """Return sizes for which guards hold and that can be told apart, the smallest ones first.

    Their expressions have values that are no other numbers of the kernel, nor each other's.
    """
    choices = [
        [(name, size) for size in _spread(*bounds)]
        for name, bounds in ranges.items()
        if name not in definitions
    ]
    found = []
    for chosen in product(*choices):
        sizes = dict(chosen)
        sizes |= {name: parse(text).at(sizes) for name, text in definitions.items()}
        if holds(guards, sizes) and _are_told_apart(agreement, sizes):
            found.append(sizes)
    return found


def near_sizes(
    agreement: Agreement,
    hints: Mapping[str, int],
    ranges: Mapping[str, Bounds],
    limit: ProductLimit | None,
    definitions: Mapping[str, str] = MappingProxyType({}),
) -> list[dict[str, int]]:
    """Return two combinations of sizes near usual ones that can be told apart; none where none can.

    Args:
        agreement: what samples have in common.
        hints: usual sizes.
        ranges: the least and the largest size of each symbol.
        limit: what the product of the sizes is at most.
        definitions: of sizes that others decide, expressions of these.
    """
    names = [name for name in ranges if name not in definitions]
    each = max(4, int(_LOOKED_AT ** (1 / max(1, len(names)))))
    choices = [_around(hints[name], *ranges[name])[:each] for name in names]
    combinations = sorted(
        islice(product(*choices), _LOOKED_AT),
        key=lambda sizes: sum(_distance(s, hints[n]) for n, s in zip(names, sizes, strict=True)),
    )
    found: list[dict[str, int]] = []
    for chosen in combinations:
        sizes = dict(zip(names, chosen, strict=True))
        if limit is not None and limit.product.at(sizes) > limit.most:
            continue
        if any(sizes[name] == other[name] for other in found for name in names):
            continue
        sizes |= {name: parse(text).at(sizes) for name, text in definitions.items()}
        if _are_told_apart(agreement, sizes):
            found.append(sizes)
            if len(found) == _STARTS:
                return found
    return []


def _around(hint: int, low: int, high: int) -> list[int]:
    """Return sizes of a range, but for 1, the nearest to a usual one first."""
    steps = [round(hint * _RATIO**power) for power in range(-_POWERS, _POWERS + 1)]
    close = [hint + far for far in range(-_CLOSE, _CLOSE + 1)]
    found = {size for size in (*steps, *close) if max(2, low) <= size <= high}
    return sorted(found, key=lambda size: _distance(size, hint))


def _distance(size: int, hint: int) -> float:
    return abs(log(size / max(hint, 1)))


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
    return "".join(each if _SCALAR.search(each) else _NUMBER.sub(replaced, each) for each in lines)


def numbers_in(text: str) -> frozenset[int]:
    """Return the numbers in the types and attributes of a text."""
    return frozenset(int(found) for found in _NUMBER.findall(text))


def _are_told_apart(agreement: Agreement, sizes: Mapping[str, int]) -> bool:
    expressions = set(agreement.numbers[0].values())
    values = {each.at(sizes) for each in expressions}
    return len(values) == len(expressions) and values.isdisjoint(agreement.fixed)


def _spread(low: int, high: int) -> list[int]:
    """Return a few sizes of a range: primes where there are many."""
    sizes = range(max(low, min(_LEAST, high // 2 + 1)), high + 1)
    if len(sizes) <= _EACH:
        return list(sizes)
    primes = [n for n in sizes if all(n % d for d in range(2, int(n**0.5) + 1))] or list(sizes)
    step = max(1, (len(primes) - 1) // (_EACH - 1))
    return sorted({*primes[::step][: _EACH - 1], primes[-1]})
