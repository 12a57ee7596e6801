# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds gated contractions (SwiGLU, GEGLU): two whose results are multiplied element by element."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.contractions.parallel_contractions import Sibling

__all__ = ["find_gates"]

_MOST_STEPS = 32


def find_gates(siblings: Sequence[Sibling]) -> list[Sibling]:
    """Return the two siblings of as many columns of which each meets the other and no third.

    None, an empty list, where there are no such two: of the gates of a recurrent network all meet.
    """
    below = [_elementwise_below(each.op) for each in siblings]
    pairs = [
        (first, second)
        for second in range(len(siblings))
        for first in range(second)
        if below[first] & below[second]
    ]
    if len(pairs) != 1:
        return []
    first, second = (siblings[number] for number in pairs[0])
    return [first, second] if first.columns == second.columns else []


def _elementwise_below(op: ir.Operation) -> set[ir.Operation]:
    """The elementwise operations that a result reaches, all of which have its shape."""
    shape = list(ir.RankedTensorType(op.results[0].type).shape)
    found: set[ir.Operation] = set()
    waiting = [op]
    while waiting and len(found) < _MOST_STEPS:
        for use in waiting.pop().results[0].uses:
            user = use.owner.operation
            if user not in found and _is_elementwise(user, shape):
                found.add(user)
                waiting.append(user)
    return found


def _is_elementwise(op: ir.Operation, shape: Sequence[int]) -> bool:
    if op.name != "linalg.generic" or "reduction" in str(op.attributes["iterator_types"]):
        return False
    return len(op.results) == 1 and list(ir.RankedTensorType(op.results[0].type).shape) == shape
