# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the loops of nests that share rows in order: those over rows first, the row's own last."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.kernels.row_group import aligned, shared_loops
from xyntra.passes.lower.loops.linear_nest import (
    LinearNest,
    collapsed,
    jumping,
    reordered,
    stepped,
    without_units,
)
from xyntra.passes.lower.loops.memrefs import root

_SHORTEST = 2  # elements: neighbouring rows share warps


def in_rows(nests: Sequence[LinearNest]) -> tuple[list[LinearNest], int]:
    """Return equal nests, with as few loops as can be behind those that they share.

    Returns:
        The nests, and how many loops over rows they share; 0 where they share none.
    """
    columns = _with_columns_last(nests)
    if columns is not None:
        return _shared(columns, interleaved=True)
    turned = _in_common_order(nests)
    if turned is not None:
        found = _shared(aligned(turned), interleaved=True)
        if _has_rows(*found) and _lie_apart(*found):
            return found
    plain = _shared(aligned(nests), interleaved=False)
    if _has_rows(*plain):
        return plain
    flat = _shared(aligned([collapsed(nest) for nest in nests]), interleaved=False)
    if _has_rows(*flat):
        return flat
    last = _shared(aligned([_reductions_last(nest) for nest in nests]), interleaved=False)
    if _has_rows(*last) or (last[1] > plain[1] and _has_rows(*_in_runs(*last))):
        return last
    return plain if plain[1] else flat


def in_single_rows(nests: Sequence[LinearNest]) -> tuple[list[LinearNest], int]:
    """As `in_rows`, with rows of one loop also where inputs move on once in several, or jump.

    Where elements of a row lie apart, the last loop over rows goes through contiguous elements, if
    any of them does.
    """
    ordered, count = in_rows(nests)
    if not count:
        return ordered, count
    return _in_runs(_neighbours_last(ordered, count), count)


def _in_runs(nests: Sequence[LinearNest], count: int) -> tuple[list[LinearNest], int]:
    """Return `nests` with one loop along rows, where that can move on in steps or jump."""
    return [jumping(stepped(nest, count), count) for nest in nests], count


def _neighbours_last(nests: list[LinearNest], count: int) -> list[LinearNest]:
    """Return `nests` with the loop over rows last along which what lies apart in rows does not."""
    apart = [
        each
        for nest in nests
        if len(nest.loops) > count
        for each in nest.accesses
        if not each.is_scalar and each.strides[count] not in (0, 1)
    ]

    def is_beside(loop: int) -> bool:
        steps = {each.strides[loop] for each in apart}
        return steps <= {0, 1} and 1 in steps

    beside = next((loop for loop in reversed(range(count)) if is_beside(loop)), count - 1)
    if beside == count - 1:
        return nests
    rows = [*(loop for loop in range(count) if loop != beside), beside]
    return [reordered(nest, [*rows, *range(count, len(nest.loops))]) for nest in nests]


def _shared(nests: Sequence[LinearNest], *, interleaved: bool) -> tuple[list[LinearNest], int]:
    count = shared_loops(nests, interleaved=interleaved, pieces=True, shortest=_SHORTEST)
    return [collapsed(nest, fixed=count) for nest in nests], count


def _has_rows(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether `nests` share loops with a single one behind them."""
    return count > 0 and all(len(nest.loops) <= count + 1 for nest in nests)


def _reductions_last(nest: LinearNest) -> LinearNest:
    """Return `nest` with its loops over outputs first."""
    numbers = range(len(nest.loops))
    return reordered(nest, sorted(numbers, key=lambda number: nest.loops[number].is_reduction))


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
    count = shared_loops(same, interleaved=True, pieces=True, shortest=_SHORTEST)
    return same if count == len(rows) else None


def _in_common_order(nests: Sequence[LinearNest]) -> list[LinearNest] | None:
    """Return `nests` with the loops of each in the order in which the first reduction has them.

    A result whose elements lie in another order than rows is computed by loops in its own order.
    None where no nest changes, or where it is not known which loops are the same.
    """
    simple = [without_units(nest) for nest in nests]
    first = next((nest for nest in simple if nest.reductions), None)
    if first is None:
        return None
    extents = [loop.extent for loop in first.loops]
    known = {root(each.value): each.strides for each in first.inputs if not each.is_scalar}
    found = []
    for nest in simple:
        own = [loop.extent for loop in nest.loops]
        order = list(range(len(own)))
        if len(own) == len(extents) and not nest.reductions:
            like = _order_like(nest, extents, known)
            if like is None and own != extents:
                return None
            order = like or order
        found.append(reordered(nest, order))
        if len(own) == len(extents):
            known |= {root(each.value): each.strides for each in found[-1].outputs}
    return found if found != simple else None


def _order_like(
    nest: LinearNest, extents: Sequence[int], known: Mapping[ir.Value, tuple[int, ...]]
) -> list[int] | None:
    """Return the loops of `nest` in the order in which others walk through what it reads."""
    for access in nest.inputs:
        if access.is_scalar or root(access.value) not in known:
            continue
        own = [(loop.extent, step) for loop, step in zip(nest.loops, access.strides, strict=True)]
        wanted = list(zip(extents, known[root(access.value)], strict=True))
        if Counter(own) == Counter(wanted) and len(set(own)) == len(own):
            return [own.index(each) for each in wanted]
    return None


def _lie_apart(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether no row of the kernel's inputs and outputs is contiguous in memory."""
    accesses = [
        each
        for nest in nests
        if len(nest.loops) > count
        for each in nest.accesses
        if not each.is_scalar and isinstance(root(each.value).owner, ir.Block)
    ]
    return not any(each.strides[count] == 1 and any(each.strides[:count]) for each in accesses)


def _reduces_across(nest: LinearNest) -> bool:
    """Tell whether loops over outputs that walk through memory follow those that reduce."""
    kinds = [loop.is_reduction for loop in nest.loops]
    if True not in kinds or kinds[-1]:
        return False
    return any(not each.is_scalar and each.strides[-1] == 1 for each in nest.inputs)
