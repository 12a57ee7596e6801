# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums of the lanes of several vectors at once, as one vector.

Two vectors become one that has half of the partial sums of each, and so on: for n vectors of l
lanes, that takes n - 1 + log2(l / n) additions, where one vector by itself takes log2(l).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit

__all__ = ["sums_of_lanes"]

Combine = Callable[[ir.Value, ir.Value], ir.Value]


def sums_of_lanes(combine: Combine, vectors: Sequence[ir.Value]) -> ir.Value:
    """Return a vector with the sum of the lanes of each of `vectors`, in order.

    Args:
        combine: emits the sum of two vectors.
        vectors: a power of two of them, at most as many as each has lanes.
    """
    lanes = ir.VectorType(vectors[0].type).shape[0]
    found, own = list(vectors), 1  # lane i has a part of sum i % own
    while len(found) > 1:
        found = [
            _paired(combine, first, second, own)
            for first, second in zip(found[::2], found[1::2], strict=True)
        ]
        own *= 2
    (total,) = found
    while lanes > own:
        lanes //= 2
        low, high = list(range(lanes)), list(range(lanes, 2 * lanes))
        total = combine(_shuffled(total, total, low), _shuffled(total, total, high))
    return total


def _paired(combine: Combine, first: ir.Value, second: ir.Value, own: int) -> ir.Value:
    """Return a vector in which `own` accumulators of `first` alternate with as many of `second`."""
    lanes = ir.VectorType(first.type).shape[0]
    low = [
        group + part + lane
        for group in range(0, lanes, 2 * own)
        for part in (0, lanes)
        for lane in range(own)
    ]
    high = [place + own for place in low]
    return combine(_shuffled(first, second, low), _shuffled(first, second, high))


def _shuffled(first: ir.Value, second: ir.Value, places: Sequence[int]) -> ir.Value:
    kind = ir.VectorType(first.type)
    result = ir.VectorType.get([len(places)], kind.element_type)
    mask = ir.DenseI64ArrayAttr.get(list(places))
    return emit("vector.shuffle", [first, second], result, mask=mask)
