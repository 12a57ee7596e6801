# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds reductions of a block that compute the same of the same tensors."""

from __future__ import annotations

from collections.abc import Hashable

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.graph.factors import inputs_of
from xyntra.passes.fusion.weights.weights import constant_of_fill

__all__ = ["reduction_key"]


def reduction_key(op: ir.Operation) -> Hashable | None:
    """Return what two linalg.generics share exactly where they give the same; None if unknown.

    Args:
        op: with one result, which starts from a filled tensor.
    """
    if len(op.results) != 1 or "reduction" not in str(op.attributes["iterator_types"]):
        return None
    start = constant_of_fill(op.operands[-1])
    if start is None:
        return None
    attributes = tuple((name, op.attributes[name]) for name in sorted(op.attributes))
    body = op.regions[0].blocks[0]
    numbers: dict[ir.Value, int] = {value: n for n, value in enumerate(body.arguments)}
    steps: list[Hashable] = []
    for view in body.operations:
        inner = view.operation
        operands = tuple(numbers.get(value, value) for value in inner.operands)
        given = tuple((name, inner.attributes[name]) for name in sorted(inner.attributes))
        steps.append((inner.name, operands, given, *(value.type for value in inner.results)))
        numbers.update({value: len(numbers) + n for n, value in enumerate(inner.results)})
    return (start, op.results[0].type, tuple(inputs_of(op)), attributes, tuple(steps))
