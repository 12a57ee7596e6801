# SPDX-License-Identifier: MIT OR Apache-2.0
"""Horizontal positions of items in rows: close to what they are joined with, never overlapping.

Row by row, each item wants to be at the mean of its neighbours; the positions closest to that, in
least squares, that keep order and distance are an isotonic regression (pool adjacent violators;
Barlow et al., Statistical Inference under Order Restrictions, 1972).
"""

from __future__ import annotations

from collections.abc import Sequence

_PASSES = 8
_STRAIGHT = 6.0
"""How much more a node wants to be below a node, and a lane below its lane, than anything else."""
_GRAVITY = 0.02
"""Part of the way to the middle of the whole, so that a long graph does not drift."""


def assign_x(
    order: Sequence[Sequence[int]],
    above: Sequence[Sequence[int]],
    below: Sequence[Sequence[int]],
    sizes: Sequence[float],
    nodes: int,
) -> list[float]:
    """The x of every item's centre.

    Args:
        order: items of each row from left to right.
        above: what an item is joined with in the row above.
        below: the same in the row below.
        sizes: room that an item takes.
        nodes: how many of the items, the first, are nodes; the others are points of lanes, which
            give way to nodes.
    """
    x = [0.0] * len(sizes)
    for row in order:
        _place(row, [0.0] * len(row), sizes, nodes, x)
    for turn in range(_PASSES):
        # The last passes look both ways, so that neither end of an edge bends it alone.
        both = turn >= _PASSES - 2
        for row in order if turn % 2 == 0 else reversed(order):
            near = above if turn % 2 == 0 else below
            wanted = []
            for item in row:
                others = [*above[item], *below[item]] if both else near[item]
                wanted.append(_wish(item, others, nodes, x))
            _place(row, wanted, sizes, nodes, x)
    return x


def _wish(item: int, others: Sequence[int], nodes: int, x: Sequence[float]) -> float:
    if not others:
        return x[item]
    weights = [_STRAIGHT if (other < nodes) == (item < nodes) else 1.0 for other in others]
    mean = sum(w * x[i] for w, i in zip(weights, others, strict=True)) / sum(weights)
    return mean * (1 - _GRAVITY) if item < nodes else mean


def _place(
    row: Sequence[int],
    wanted: Sequence[float],
    sizes: Sequence[float],
    nodes: int,
    x: list[float],
) -> None:
    """Set `x` of a row's items as close to `wanted` as their sizes allow."""
    offsets: list[float] = []
    edge = 0.0
    for item in row:
        offsets.append(edge + sizes[item] / 2)
        edge += sizes[item]
    pools: list[tuple[float, float, int]] = []
    for item, want, offset in zip(row, wanted, offsets, strict=True):
        weight = _STRAIGHT if item < nodes else 1.0
        total, count = weight * (want - offset), 1
        while pools and pools[-1][0] / pools[-1][1] >= total / weight:
            before, other, size = pools.pop()
            total, weight, count = total + before, weight + other, count + size
        pools.append((total, weight, count))
    index = 0
    for total, weight, count in pools:
        for _ in range(count):
            x[row[index]] = total / weight + offsets[index]
            index += 1
