# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the strides of every loop of a linalg.generic on memrefs."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.session import sized, sized_strides

IRREGULAR = 1 << 30  # stands for the stride of an index that is not linear in the loop


def loop_extents(generic: ir.Operation) -> list[int]:
    """Return the number of iterations of every loop."""
    extents = [1] * len(generic.attributes["iterator_types"])
    for operand, indexing_map in _operands(generic):
        for extent, expression in zip(operand.shape, indexing_map.results, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                extents[expression.position] = sized(extent)
    return extents


def loop_strides(generic: ir.Operation) -> list[list[int]]:
    """Return, for every operand, how many elements one step of every loop moves on.

    Scalar operands do not move.
    """
    loops = len(generic.attributes["iterator_types"])
    strides = []
    for operand, indexing_map in _operands(generic):
        steps = [0] * loops
        for stride, expression in zip(_strides(operand), indexing_map.results, strict=True):
            _add_steps(steps, expression, stride)
        strides.append(steps)
    return strides


def _operands(generic: ir.Operation) -> list[tuple[ir.ShapedType | ir.MemRefType, ir.AffineMap]]:
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    found = []
    for operand, indexing_map in zip(generic.operands, maps, strict=True):
        kind = operand.type
        if isinstance(kind, ir.MemRefType):
            found.append((kind, indexing_map))
        else:
            found.append((ir.MemRefType.get([], kind, loc=generic.location), indexing_map))
    return found


def _strides(kind: ir.MemRefType) -> list[int]:
    return [stride if int(stride) >= 0 else IRREGULAR for stride in sized_strides(kind)]


def _add_steps(steps: list[int], expression: ir.AffineExpr, stride: int) -> None:
    """Add what one step of every loop adds to `expression`, times `stride`, to `steps`."""
    if isinstance(expression, ir.AffineDimExpr):
        steps[expression.position] += stride
        return
    for loop in range(len(steps)):
        steps[loop] += stride * _coefficient(expression, loop)


def number_of(expression: ir.AffineConstantExpr) -> int:
    """Return the number of a constant, as a size where it is one."""
    value = int(expression.value)
    return sized(value) if value >= 0 else -sized(-value)


def _coefficient(expression: ir.AffineExpr, loop: int) -> int:
    """Return what one step of `loop` adds to `expression`."""
    if isinstance(expression, ir.AffineDimExpr):
        return int(expression.position == loop)
    if isinstance(expression, ir.AffineConstantExpr):
        return 0
    left = _coefficient(expression.lhs, loop)
    right = _coefficient(expression.rhs, loop)
    if isinstance(expression, ir.AffineAddExpr):
        return left + right
    if isinstance(expression, ir.AffineMulExpr) and isinstance(
        expression.rhs, ir.AffineConstantExpr
    ):
        return left * number_of(expression.rhs)
    return IRREGULAR if left or right else 0
