# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the order of loops by the strides of their accesses."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.passes.analysis.sizes.size import hint_of

_SEQUENTIAL_STRIDE = 8  # elements: beyond it every access is a cache line, or a lane of a gather
_STORE_WEIGHT = 2
_SHORT_LOOP = 8.0  # iterations that pay for entering a loop

Strides = Sequence[Sequence[int]]
"""For each operand, how many elements every loop moves on."""


def best_order(
    extents: Sequence[int], is_reduction: Sequence[bool], inputs: Strides, outputs: Strides
) -> list[int]:
    """Return the numbers of the loops, outermost first.

    Innermost comes the loop with the cheapest accesses: usually the last dimension of the output;
    the reduction where only that is contiguous. Around it come the reductions, and outermost the
    parallel loops in the order in which they walk through the output.
    """
    extents = [hint_of(extent) for extent in extents]
    inputs = [[hint_of(step) for step in steps] for steps in inputs]
    outputs = [[hint_of(step) for step in steps] for steps in outputs]

    def cost(loop: int) -> float:
        reads = sum(_access_cost(operand[loop]) for operand in inputs)
        writes = sum(_access_cost(operand[loop]) for operand in outputs)
        # A reduction combines the lanes of its accumulator once at its end.
        base = 0.5 + reads + _STORE_WEIGHT * writes
        return base * (1 + _SHORT_LOOP / max(extents[loop], 1))

    def walk(loop: int) -> tuple[bool, int]:
        operands = inputs if is_reduction[loop] else outputs
        return is_reduction[loop], -max((operand[loop] for operand in operands), default=0)

    order = sorted(range(len(extents)), key=walk)
    candidates = [loop for loop in reversed(order) if extents[loop] > 1]
    if not candidates:
        return order
    innermost = min(candidates, key=cost)
    return [loop for loop in order if loop != innermost] + [innermost]


def _access_cost(stride: int) -> int:
    return min(abs(stride), _SEQUENTIAL_STRIDE)
