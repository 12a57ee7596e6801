# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the loops of nests that share rows in order: those over rows first, the row's own last."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.lower.nests.linear_nest import (
    LinearNest,
    collapsed,
    reordered,
    stepped,
    without_units,
)
from xyntra.passes.lower.nests.row_group import aligned, shared_loops

_SHORTEST = 2  # elements: neighbouring rows share warps


def in_rows(nests: Sequence[LinearNest]) -> tuple[list[LinearNest], int]:
    """Return equal nests, with as few loops as can be behind those that they share.

    Returns:
        The nests, and how many loops over rows they share; 0 where they share none.
    """
    columns = _with_columns_last(nests)
    if columns is not None:
        return _shared(columns, interleaved=True)
    plain = _shared(aligned(nests), interleaved=False)
    if _has_rows(*plain):
        return plain
    flat = _shared(aligned([collapsed(nest) for nest in nests]), interleaved=False)
    return flat if _has_rows(*flat) or not plain[1] else plain


def in_single_rows(nests: Sequence[LinearNest]) -> tuple[list[LinearNest], int]:
    """As `in_rows`, with rows of one loop also where inputs move on once in several elements."""
    ordered, count = in_rows(nests)
    return ([stepped(nest, count) for nest in ordered] if count else ordered), count


def _shared(nests: Sequence[LinearNest], *, interleaved: bool) -> tuple[list[LinearNest], int]:
    count = shared_loops(nests, interleaved=interleaved, shortest=_SHORTEST)
    return [collapsed(nest, fixed=count) for nest in nests], count


def _has_rows(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether `nests` share loops with a single one behind them."""
    return count > 0 and all(len(nest.loops) <= count + 1 for nest in nests)


def _with_columns_last(nests: Sequence[LinearNest]) -> list[LinearNest] | None:
    """Return `nests` with the loops last along which one of them reduces across rows of memory.

    None where none does, or where it is not known which loops of others those are.
    """
    simple = [without_units(nest) for nest in nests]
    across = next((nest for nest in simple if _reduces_across(nest)), None)
    if across is None:
        return None
    numbers = range(len(across.loops))
    order = sorted(numbers, key=lambda number: across.loops[number].is_reduction)
    extents = [loop.extent for loop in across.loops]
    rows = [loop.extent for loop in across.loops if not loop.is_reduction]
    found = []
    for nest in simple:
        own = [loop.extent for loop in nest.loops]
        if own not in (extents, rows):
            return None
        found.append(reordered(nest, order) if own == extents else nest)
    same = aligned(found)
    count = shared_loops(same, interleaved=True, shortest=_SHORTEST)
    return same if count == len(rows) else None


def _reduces_across(nest: LinearNest) -> bool:
    """Tell whether loops over outputs that walk through memory follow those that reduce."""
    kinds = [loop.is_reduction for loop in nest.loops]
    if True not in kinds or kinds[-1]:
        return False
    return any(not each.is_scalar and each.strides[-1] == 1 for each in nest.inputs)
