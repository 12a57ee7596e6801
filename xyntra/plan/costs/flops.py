# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the floating-point operations of a kernel from its IR."""

from __future__ import annotations

from math import prod

from torch_mlir import ir

_FREE = frozenset({"arith.constant", "arith.extf", "arith.truncf", "arith.bitcast", "arith.select"})
_PER_ELEMENT = {
    "xyntra.softmax": 4,
    "xyntra.log_softmax": 5,
    "xyntra.layer_norm": 8,
    "xyntra.rms_norm": 5,
    "xyntra.gelu": 5,
    "xyntra.silu": 4,
}
"""Operations for each element of a named op, by its definition."""


def count_flops(function: ir.Operation) -> int:
    """Floating-point operations of one launch; a function call (exp, erf …) counts as one."""
    return sum(
        _operation_flops(view.operation) for view in function.regions[0].blocks[0].operations
    )


def _operation_flops(op: ir.Operation) -> int:
    if op.name in _PER_ELEMENT:
        elements: int = prod(ir.RankedTensorType(op.results[0].type).shape)
        return _PER_ELEMENT[op.name] * elements
    if op.name != "linalg.generic":
        return 0
    body = [view.operation for view in op.regions[0].blocks[0].operations]
    return prod(loop_ranges(op)) * sum(map(_is_float_operation, body))


def _is_float_operation(op: ir.Operation) -> bool:
    if op.name in _FREE or not op.name.startswith(("arith.", "math.")) or not len(op.results):
        return False
    return isinstance(op.operands[0].type, ir.FloatType) if len(op.operands) else False


def loop_ranges(op: ir.Operation) -> list[int]:
    """Extent of every loop of a `linalg.generic` of static shape.

    A loop that no operand walks by a plain dimension has no known extent and counts once.
    """
    maps = [attribute.value for attribute in op.attributes["indexing_maps"]]
    ranges = [1] * maps[0].n_dims
    for operand, map_ in zip(op.operands, maps, strict=True):
        shape = ir.RankedTensorType(operand.type).shape
        for size, expression in zip(shape, map_.results, strict=True):
            if isinstance(expression, ir.AffineDimExpr):
                ranges[expression.position] = size
    return ranges
