# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shapes that broadcast as numpy's do, and the indexing maps that read them so."""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir import ir


class ShapeError(ValueError):
    """Sizes that were given do not fit each other."""


def broadcast_shapes(*shapes: Sequence[int]) -> tuple[int, ...]:
    """The common shape by numpy's rule; ShapeError when there is none."""
    rank = max((len(shape) for shape in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for position, size in enumerate(shape, rank - len(shape)):
            if size != 1 and result[position] not in (1, size):
                raise ShapeError(f"shapes {', '.join(map(str, shapes))} do not broadcast")
            result[position] = size if size != 1 else result[position]
    return tuple(result)


def broadcast_map(shape: Sequence[int], domain: Sequence[int]) -> ir.AffineMap:
    """The indexing map that reads a tensor of `shape` over the iteration space `domain`."""
    offset = len(domain) - len(shape)
    expressions = [
        ir.AffineDimExpr.get(d) if size == domain[d] else ir.AffineConstantExpr.get(0)
        for d, size in enumerate(shape, offset)
    ]
    return ir.AffineMap.get(len(domain), 0, expressions)
