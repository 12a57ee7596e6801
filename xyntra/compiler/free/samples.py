# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the sizes at which a model with free dimensions is looked at.

Numbers that come from a size must be told from all others, so that samples are primes, which
hidden sizes are not, and those of two dimensions are in no simple relation. Sizes beyond the range
are as good where the model takes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from xyntra.plan.free import FreeSymbol

__all__ = ["Samples", "sample_sets", "symbols_of"]

Samples = tuple[dict[str, int], ...]
"""Sizes of the symbols, by their identifiers."""

_LEAST = 11
_USUAL = 128
_FEW = 8
_SAMPLES = 4
_PRIMES = [n for n in range(_LEAST, 4000) if all(n % d for d in range(2, int(n**0.5) + 1))]


def symbols_of(ranges: Mapping[str, Sequence[int]]) -> tuple[FreeSymbol, ...]:
    """Return the symbols for ranges, given as low, high and step by name."""
    found: list[FreeSymbol] = []
    for name, (low, high, step) in ranges.items():
        base = re.sub(r"\W", "_", name, flags=re.ASCII) or "n"
        base = f"n{base}" if base[0].isdigit() else base
        identifier, number = base, 1
        while identifier in [each.identifier for each in found]:
            number += 1
            identifier = f"{base}{number}"
        usual = min(high, max(low, _USUAL if high > _FEW * _LEAST else 1))
        found.append(FreeSymbol(name, identifier, low, high, step, usual, usual))
    return tuple(found)


def sample_sets(symbols: Sequence[FreeSymbol]) -> Iterator[Samples]:
    """Yield sets of samples to try, one after the other; code is made at the first two of each.

    Those of a set are close to each other, so that what shares a kernel is decided alike: first
    near usual sizes, then larger ones.
    """
    for inside in (True, False):
        for skipped in (0, 8, 20):
            found = _near(symbols, inside=inside, skipped=skipped)
            if found is not None:
                yield found


def _near(symbols: Sequence[FreeSymbol], *, inside: bool, skipped: int) -> Samples | None:
    """Return samples near usual sizes; None where a range has too few numbers that serve.

    Args:
        symbols: what has sizes.
        inside: whether none is beyond its range.
        skipped: how many of the nearest ones are left out.
    """
    taken: set[int] = set()
    found: list[dict[str, int]] = [{} for _ in range(_SAMPLES)]
    for symbol in symbols:
        near = sorted(
            (size for size in _fitting(symbol, inside=inside) if size not in taken),
            key=lambda size: abs(size - symbol.hint),
        )[skipped : skipped + _SAMPLES]
        if len(near) < _SAMPLES:
            return None
        taken.update(near)
        for sample, size in zip(found, near, strict=True):
            sample[symbol.identifier] = size
    return tuple(found)


def _fitting(symbol: FreeSymbol, *, inside: bool) -> list[int]:
    """Return sizes that can be told from other numbers."""
    if symbol.step > 1:
        sizes = symbol.sizes if inside else range(symbol.low, 4000, symbol.step)
        factors = [size for size in sizes if size // symbol.step in _PRIMES]
        return factors or [size for size in sizes if size >= _LEAST]
    if inside:
        return [size for size in _PRIMES if symbol.low <= size <= symbol.high]
    near = max(symbol.low, min(symbol.hint, 1000))
    return [size for size in _PRIMES if size >= min(near, _USUAL)][:40]
