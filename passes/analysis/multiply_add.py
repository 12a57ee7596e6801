# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises the body of a matmul: an accumulator, plus the product of two operands."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = ["is_multiply_add"]

_PLAIN = ["arith.mulf", "arith.addf", "linalg.yield"]
_WIDENED = ["arith.extf", "arith.extf", *_PLAIN]


def is_multiply_add(body: ir.Block, *, widened: bool = False) -> bool:
    """Tell whether `body` yields `running + x * y` of floats and computes nothing else.

    Args:
        body: with the arguments x, y and running, in this order.
        widened: x and y are converted to the type of `running` first; else they are of it.
    """
    operations = [view.operation for view in body.operations]
    names = [op.name for op in operations]
    if names != (_WIDENED if widened else _PLAIN) or len(body.arguments) != 3:
        return False
    x, y, running = body.arguments
    factors = {x, y}
    if widened:
        left, right = operations[:2]
        if {left.operands[0], right.operands[0]} != factors:
            return False
        factors = {left.results[0], right.results[0]}
    product, total, end = operations[-3:]
    return (
        set(product.operands) == factors
        and set(total.operands) == {running, product.results[0]}
        and end.operands[0] == total.results[0]
    )
