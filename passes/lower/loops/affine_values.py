# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits the values of affine expressions, whose numbers may be sizes that a kernel is told."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.session import not_free
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.access_strides import number_of
from xyntra.passes.lower.loops.loop_builder import index

__all__ = ["affine_value"]

_BINARY: tuple[tuple[type[ir.AffineExpr], Callable[[ir.Value, ir.Value], ir.Value]], ...] = (
    (ir.AffineAddExpr, integers.addi),
    (ir.AffineMulExpr, integers.muli),
    (ir.AffineFloorDivExpr, integers.divui),
    (ir.AffineCeilDivExpr, integers.ceildivui),
    (ir.AffineModExpr, integers.remui),
)


def affine_value(expression: ir.AffineExpr, loops: Sequence[ir.Value]) -> ir.Value:
    """Return the value of an expression.

    Args:
        expression: of dimensions and numbers.
        loops: the values of the dimensions, none of which is negative.

    Raises:
        CompileError: `kernel-not-free`, what is divided by a size may be negative.
    """
    if not _has_sizes(expression):
        map_ = ir.AffineMapAttr.get(ir.AffineMap.get(len(loops), 0, [expression]))
        return emit("affine.apply", list(loops), ir.IndexType.get(), map=map_)
    return _value(expression, loops)


def _value(expression: ir.AffineExpr, loops: Sequence[ir.Value]) -> ir.Value:
    if isinstance(expression, ir.AffineDimExpr):
        return loops[expression.position]
    if isinstance(expression, ir.AffineConstantExpr):
        return index(number_of(expression))
    kind, build = next(each for each in _BINARY if isinstance(expression, each[0]))
    if kind not in (ir.AffineAddExpr, ir.AffineMulExpr) and _may_be_negative(expression.lhs):
        raise not_free(f"an index is {expression}")
    return build(_value(expression.lhs, loops), _value(expression.rhs, loops))


def _has_sizes(expression: ir.AffineExpr) -> bool:
    if isinstance(expression, ir.AffineConstantExpr):
        return isinstance(number_of(expression), Size)
    if isinstance(expression, ir.AffineDimExpr):
        return False
    return _has_sizes(expression.lhs) or _has_sizes(expression.rhs)


def _may_be_negative(expression: ir.AffineExpr) -> bool:
    if isinstance(expression, ir.AffineConstantExpr):
        return bool(expression.value < 0)
    if isinstance(expression, ir.AffineDimExpr):
        return False
    return _may_be_negative(expression.lhs) or _may_be_negative(expression.rhs)
