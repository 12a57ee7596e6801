# SPDX-License-Identifier: MIT OR Apache-2.0
"""Row-major shapes: which of them walk through the same elements in the same order, and how."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from xyntra.dialects.mlir import ir

Shape = tuple[int, ...]


def row_major_steps(shape: Sequence[int]) -> list[int]:
    """Return how many elements one step along every dimension moves on."""
    steps = [1] * len(shape)
    for dimension in reversed(range(len(shape) - 1)):
        steps[dimension] = steps[dimension + 1] * shape[dimension + 1]
    return steps


def common_refinement(first: Shape, second: Shape) -> Shape | None:
    """Return the coarsest shape without unit dimensions whose dimensions both shapes are made of.

    `(6, 4)` and `(2, 12)` give `(2, 3, 4)`; `(6, 4)` and `(4, 6)` give None, as do shapes of
    different sizes or without elements.
    """
    boundaries = _boundaries(first)
    if 0 in boundaries or boundaries[-1] != _boundaries(second)[-1]:
        return None
    boundaries = sorted({*boundaries, *_boundaries(second)}, key=int)
    pairs = list(pairwise(boundaries))
    if any(large % small for small, large in pairs):
        return None
    return tuple(large // small for small, large in reversed(pairs))


def without_units(shape: Sequence[int]) -> Shape:
    """Return `shape` without dimensions of one element."""
    return tuple(extent for extent in shape if extent != 1)


def refine_loops(coarse: Sequence[int], fine: Sequence[int]) -> ir.AffineMap:
    """Return the position in `coarse` as a function of the position in `fine`.

    Args:
        coarse: a shape.
        fine: a shape of equal size that `coarse` is made of.
    """
    steps = row_major_steps(fine)
    found = []
    for extent, step in zip(coarse, row_major_steps(coarse), strict=True):
        position = ir.AffineConstantExpr.get(0)
        for loop, (size, distance) in enumerate(zip(fine, steps, strict=True)):
            if size != 1 and step <= distance < step * extent:
                part = ir.AffineDimExpr.get(loop)
                position = position + part * (distance // step)
        found.append(position)
    return ir.AffineMap.get(len(fine), 0, found)


def reads_in_order(map_: ir.AffineMap, operand: Sequence[int], domain: Sequence[int]) -> bool:
    """Tell whether a loop nest over `domain` reads the elements of `operand` one after the other.

    Dimensions of one element do not matter. False where there are no elements.
    """
    loops = [0] * len(domain)
    for expression, step in zip(map_.results, row_major_steps(operand), strict=True):
        if not _add_steps(expression, step, loops):
            return False
    wanted = row_major_steps(domain)
    return _boundaries(operand)[-1] == _boundaries(domain)[-1] != 0 and all(
        extent == 1 or loops[loop] == wanted[loop] for loop, extent in enumerate(domain)
    )


def _boundaries(shape: Sequence[int]) -> list[int]:
    products = [1]
    for extent in reversed(shape):
        products.append(products[-1] * extent)
    return products


def _add_steps(expression: ir.AffineExpr, factor: int, loops: list[int]) -> bool:
    """Add what one step of every loop adds to `expression`; False where it is not linear."""
    if isinstance(expression, ir.AffineDimExpr):
        loops[expression.position] += factor
        return True
    if isinstance(expression, ir.AffineConstantExpr):
        return bool(expression.value == 0)
    if isinstance(expression, ir.AffineAddExpr):
        return _add_steps(expression.lhs, factor, loops) and _add_steps(
            expression.rhs, factor, loops
        )
    if isinstance(expression, ir.AffineMulExpr):
        by = expression.rhs
        return isinstance(by, ir.AffineConstantExpr) and _add_steps(
            expression.lhs, factor * int(by.value), loops
        )
    return False
