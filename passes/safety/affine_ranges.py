# SPDX-License-Identifier: MIT OR Apache-2.0
"""The values that affine expressions take over the iterations of loops."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import prod
from typing import Any

from xyntra.dialects.mlir import ir

__all__ = ["Range", "is_mixed", "loop_extents", "loops_in", "range_of"]

Range = tuple[int, int]
"""The smallest and the largest value."""

_MOST_POINTS = 1 << 20


def loop_extents(maps: Sequence[ir.AffineMap], shapes: Sequence[Sequence[int]]) -> list[int] | None:
    """Return how often each loop of a linalg operation runs; None if a loop has no tensor.

    Args:
        maps: how each operand is indexed.
        shapes: the shape of each operand, () for scalars.
    """
    extents: dict[int, int] = {}
    for map_, shape in zip(maps, shapes, strict=True):
        for expression, size in zip(map_.results, shape, strict=False):
            if isinstance(expression, ir.AffineDimExpr):
                extents.setdefault(expression.position, size)
    count = maps[0].n_dims if maps else 0
    return [extents[loop] for loop in range(count)] if len(extents) >= count else None


def is_mixed(expression: ir.AffineExpr) -> bool:
    """Tell whether `expression` has both a difference of loops and a quotient or remainder."""
    parts = list(_parts(expression))
    divides = any(isinstance(p, ir.AffineModExpr | ir.AffineFloorDivExpr) for p in parts)
    return divides and any(
        isinstance(p, ir.AffineMulExpr)
        and isinstance(p.rhs, ir.AffineConstantExpr)
        and p.rhs.value < 0
        for p in parts
    )


def _parts(expression: ir.AffineExpr) -> Iterator[ir.AffineExpr]:
    yield expression
    if hasattr(expression, "lhs"):
        yield from _parts(expression.lhs)
        yield from _parts(expression.rhs)


def range_of(expression: ir.AffineExpr, extents: Sequence[int], size: int) -> Range | None:
    """Return bounds of `expression` over loops that all run; None where it has none.

    The bounds may be wide, unless they would say that the expression leaves [0, size): then they
    are exact, if few iterations have to be tried for that.
    """
    found = _bounds(expression, extents)
    if found is None or (found[0] >= 0 and found[1] < size):
        return found
    return _exact(expression, extents) or found


def _bounds(expression: ir.AffineExpr, extents: Sequence[int]) -> Range | None:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value, expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return 0, extents[expression.position] - 1
    if not hasattr(expression, "lhs"):
        return None  # a symbol
    left, right = _bounds(expression.lhs, extents), _bounds(expression.rhs, extents)
    if left is None or right is None:
        return None
    if isinstance(expression, ir.AffineAddExpr):
        return left[0] + right[0], left[1] + right[1]
    if isinstance(expression, ir.AffineMulExpr):
        products = [a * b for a in left for b in right]
        return min(products), max(products)
    return _divided(expression, left, right)


def _divided(expression: ir.AffineExpr, left: Range, right: Range) -> Range | None:
    divisor = right[0]
    if divisor < 1 or right[1] != divisor:
        return None
    if isinstance(expression, ir.AffineFloorDivExpr):
        return left[0] // divisor, left[1] // divisor
    if isinstance(expression, ir.AffineCeilDivExpr):
        return None  # no pass writes it, and lowered code of it has read elsewhere
    if left[0] // divisor == left[1] // divisor:
        return left[0] % divisor, left[1] % divisor
    return 0, divisor - 1


def _exact(expression: ir.AffineExpr, extents: Sequence[int]) -> Range | None:
    """Return the range of an expression that has bounds; None if it has too many values."""
    used = sorted(loops_in(expression))
    if prod(extents[loop] for loop in used) > _MOST_POINTS:
        return None
    import numpy as np  # slow to import, and rarely needed

    grid = np.ix_(*(np.arange(extents[loop]) for loop in used))
    values = np.asarray(_evaluate(expression, dict(zip(used, grid, strict=True))))
    return int(values.min()), int(values.max())


def loops_in(expression: ir.AffineExpr) -> set[int]:
    """Return the loops that `expression` depends on."""
    if isinstance(expression, ir.AffineDimExpr):
        return {expression.position}
    if not hasattr(expression, "lhs"):
        return set()
    return loops_in(expression.lhs) | loops_in(expression.rhs)


def _evaluate(expression: ir.AffineExpr, loops: Mapping[int, Any]) -> Any:
    if isinstance(expression, ir.AffineConstantExpr):
        return expression.value
    if isinstance(expression, ir.AffineDimExpr):
        return loops[expression.position]
    left, right = _evaluate(expression.lhs, loops), _evaluate(expression.rhs, loops)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr):
        return left * right
    if isinstance(expression, ir.AffineModExpr):
        return left % right
    return left // right
