# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the sizes at which a model with free dimensions is looked at.

Numbers that come from a size must be told from all others, so that samples are primes, which
hidden sizes are not, and those of two dimensions are in no simple relation. Sizes beyond the range
are as good where the model takes them.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from itertools import combinations as combinations_of
from itertools import islice, pairwise, product
from math import log, prod

from xyntra.dialects.sizes import Expr, constant, parse, symbol
from xyntra.plan.free.expressions import FreeSymbol, with_defined

__all__ = ["Samples", "combinations", "sample_sets", "symbols_of", "with_related"]

Samples = tuple[dict[str, int], ...]
"""Sizes of the symbols, by their identifiers."""

_LEAST = 11
_USUAL = 128
_FEW = 8
_SAMPLES = 4
_LOOKED_AT = 40
_MOST_LOOKED_AT = 5000
"""Sizes of each symbol, and combinations of them, that are tried, the nearest first."""
_APART = 6
_MOST_TRIED = 20_000
"""Combinations of sizes up to which each one is looked at."""
_EACH = 64
"""Sizes of a dimension up to which, and ends of its range to which, each is looked at otherwise."""
_PRIMES = [n for n in range(_LEAST, 4000) if all(n % d for d in range(2, int(n**0.5) + 1))]


def symbols_of(
    ranges: Mapping[str, Sequence[int]], relations: Mapping[str, Expr] | None = None
) -> tuple[FreeSymbol, ...]:
    """Return the symbols of free dimensions, those first that others are defined by.

    Args:
        ranges: low, high and step by name.
        relations: of sizes that these decide, expressions of their names.
    """
    found: list[FreeSymbol] = []
    for name, (low, high, step) in ranges.items():
        unit = step if low % step == 0 else 1
        usual = min(high, max(low or step, _USUAL if high > _FEW * _LEAST else 1))
        identifier = _identifier(name, found)
        values = (low // unit, high // unit, step // unit, usual // unit, usual // unit)
        found.append(FreeSymbol(name, identifier, *values, unit=unit))
    return with_related(found, relations or {})


def with_related(
    symbols: Sequence[FreeSymbol], relations: Mapping[str, Expr]
) -> tuple[FreeSymbol, ...]:
    """Return symbols and those of `relations`, whose expressions are of the former's names."""
    found = list(symbols)
    known = {each.name: constant(each.unit) * symbol(each.identifier) for each in symbols}
    ranges = {each.identifier: (each.low, each.high) for each in symbols}
    hints = {each.identifier: each.hint for each in symbols}
    for name, relation in relations.items():
        own = relation.replaced(known)
        (low, high), usual = own.bounds(ranges), own.at(hints)
        identifier = _identifier(name, found)
        found.append(FreeSymbol(name, identifier, low, high, 1, usual, usual, str(own)))
    return tuple(found)


def _identifier(name: str, others: Sequence[FreeSymbol]) -> str:
    base = re.sub(r"\W+", "_", name, flags=re.ASCII) or "n"
    base = f"n{base}" if base[0].isdigit() else base
    identifier, number = base, 1
    while identifier in [each.identifier for each in others]:
        number += 1
        identifier = f"{base}{number}"
    return identifier


def sample_sets(symbols: Sequence[FreeSymbol], avoided: Collection[int] = ()) -> Iterator[Samples]:
    """Yield sets of samples to try, one after the other; code is made at the first two of each.

    Those of a set are close to each other, so that what shares a kernel is decided alike: first
    near usual sizes, then larger ones.

    Args:
        symbols: what has sizes.
        avoided: numbers that are no sizes; more may be added meanwhile.
    """
    for inside in (True, False):
        for skipped in (0, 8, 20):
            found = _near(symbols, avoided, inside=inside, skipped=skipped)
            if found is not None:
                yield found


def combinations(
    symbols: Sequence[FreeSymbol], most: int = _MOST_TRIED
) -> Iterator[dict[str, int]]:
    """Yield combinations of sizes: all, where they are not more than `most`, or those near ends."""
    free = [each for each in symbols if not each.definition]
    total = prod(len(each.values) for each in free)
    choices = []
    for each in free:
        sizes: Sequence[int] = each.values
        if total > most:
            step = max(1, len(sizes) // _EACH)
            sizes = sorted({*sizes[:_EACH], *sizes[::step], *sizes[-_EACH:]})
        choices.append(sizes)
    for sizes in product(*choices):
        named = {each.identifier: size for each, size in zip(free, sizes, strict=True)}
        yield with_defined(symbols, named)


def _near(
    symbols: Sequence[FreeSymbol], avoided: Collection[int], *, inside: bool, skipped: int
) -> Samples | None:
    """Return samples near usual sizes; None where a range has too few numbers that serve.

    Args:
        symbols: what has sizes.
        avoided: numbers that no sample has.
        inside: whether none is beyond its range, if that has enough.
        skipped: how many of the nearest ones are left out.
    """
    free = [each for each in symbols if not each.definition]
    defined = {
        name for each in symbols if each.definition for name in parse(each.definition).symbols
    }
    choices = []
    for each in free:
        sizes = _fitting(each, inside=inside)
        if len(sizes) < skipped + _SAMPLES:  # of this range no more than of any other one
            sizes = _fitting(each, inside=False)
        if each.identifier in defined and each.step == 1:
            sizes += [2 * size for size in sizes if not inside or 2 * size <= each.high]
        near = sorted(sizes, key=partial(_distance, each.hint))
        choices.append(near[skipped:])
    found: list[dict[str, int]] = []
    for _ in range(_SAMPLES):
        sample = _untaken(symbols, choices, found, avoided)
        if sample is None:
            return None
        found.append(sample)
    return tuple(found)


def _untaken(
    symbols: Sequence[FreeSymbol],
    choices: Sequence[Sequence[int]],
    found: Sequence[Mapping[str, int]],
    avoided: Collection[int],
) -> dict[str, int] | None:
    """Return sizes that tell what the samples found so far do not, the nearest for the first one.

    No symbol has a size again, and no two of them have those that two had. None is close to
    another, if that is possible: one with a few more may be the other.
    """
    free = [each.identifier for each in symbols if not each.definition]
    others = [each.identifier for each in symbols if each.definition and not _is_alias(each)]
    barred = {name: {*avoided, *(each[name] for each in found)} for name in (*free, *others)}
    pairs = {pair for each in found for pair in _pairs(each[name] for name in free)}
    left = [
        [size for size in sizes if size not in barred[name]][:_LOOKED_AT]
        for name, sizes in zip(free, choices, strict=True)
    ]
    first = [found[0][name] for name in free] if found else None
    for apart in (_APART, 1):
        best: tuple[float, dict[str, int]] | None = None
        for sizes in islice(product(*left), _MOST_LOOKED_AT):
            sample = with_defined(symbols, dict(zip(free, sizes, strict=True)))
            values = sorted(sample[name] for name in (*free, *others))
            if (
                any(more - size < apart for size, more in pairwise(values))
                or not pairs.isdisjoint(_pairs(sizes))
                or not all(_is_telling(sample[name]) for name in others)
                or any(sample[name] in barred[name] for name in others)
            ):
                continue
            away = _away(sizes, first) if first else 0.0
            if best is None or away < best[0]:
                best = away, sample
            if not away:
                break
        if best is not None:
            return best[1]
    return None


def _away(sizes: Sequence[int], first: Sequence[int]) -> float:
    """Return how far sizes are from others, in themselves and in all that there is to do.

    Both decide what shares a kernel.
    """
    ratios = [log(size / other) for size, other in zip(sizes, first, strict=True)]
    return 2 * abs(sum(ratios)) + sum(map(abs, ratios))


def _pairs(sizes: Iterable[int]) -> set[frozenset[int]]:
    return {frozenset(pair) for pair in combinations_of(sizes, 2)}


def _is_alias(decided: FreeSymbol) -> bool:
    """Tell whether a size is another one, by another name."""
    return decided.definition in parse(decided.definition).symbols


def _distance(hint: int, size: int) -> tuple[bool, int]:
    """Order sizes by how near they are; those beside powers of two come last."""
    beside = any(each & (each - 1) == 0 for each in (size - 1, size + 1))
    return beside, abs(size - hint)


def _is_telling(size: int) -> bool:
    """Tell whether a number is hardly one that a model has for another reason."""
    return size >= _LEAST and all(size % divisor for divisor in (2, 3, 5))


def _fitting(free: FreeSymbol, *, inside: bool) -> list[int]:
    """Return sizes that can be told from other numbers."""
    if free.step > 1:
        sizes = free.values if inside else range(free.low, 4000, free.step)
        factors = [size for size in sizes if size // free.step in _PRIMES]
        return factors or [size for size in sizes if size >= _LEAST]
    if inside:
        return [size for size in _PRIMES if free.low <= size <= free.high]
    near = max(free.low, min(free.hint, 1000))
    return [size for size in _PRIMES if size >= min(near, _USUAL)][:40]
