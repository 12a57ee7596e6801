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
    both = [[*upper, *lower] for upper, lower in zip(above, below, strict=True)]
    wishes = [_weighted(near, nodes) for near in (above, below, both)]
    for turn in range(_PASSES):
        # The last passes look both ways, so that neither end of an edge bends it alone.
        wish = wishes[2] if turn >= _PASSES - 2 else wishes[turn % 2]
        for row in order if turn % 2 == 0 else reversed(order):
            wanted = [
                sum(w * x[i] for w, i in wish[item]) if wish[item] else x[item] for item in row
            ]
            _place(row, wanted, sizes, nodes, x)
    return x


def _weighted(near: Sequence[Sequence[int]], nodes: int) -> list[list[tuple[float, int]]]:
    """For each item, its neighbours with weights: their weighted mean is where it wants to be."""
    found = []
    for item, others in enumerate(near):
        weights = [_STRAIGHT if (other < nodes) == (item < nodes) else 1.0 for other in others]
        scale = (1 - _GRAVITY if item < nodes else 1.0) / (sum(weights) or 1.0)
        found.append([(w * scale, i) for w, i in zip(weights, others, strict=True)])
    return found


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
