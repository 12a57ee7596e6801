# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the bytes of temporary tensors that are needed during each launch of a call."""

from __future__ import annotations

from xyntra.plan.plan import Plan

__all__ = ["live_bytes"]


def live_bytes(plan: Plan) -> list[int]:
    """Return the bytes of temporaries that hold something needed, for each launch of a call.

    A tensor is needed from the launch that writes it first to the last one that reads it. The arena
    may be larger, where what is needed at different times does not fit into the same places.
    """
    steps = [step for step in plan.steps if not step.once]
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for position, step in enumerate(steps):
        for buffer in map(plan.home, (*step.inputs, *step.outputs)):
            if plan.buffers[buffer].kind == "temporary":
                first.setdefault(buffer, position)
                last[buffer] = position
    change = [0] * (len(steps) + 1)
    for buffer, position in first.items():
        change[position] += plan.buffers[buffer].nbytes
        change[last[buffer] + 1] -= plan.buffers[buffer].nbytes
    found, held = [], 0
    for each in change[:-1]:
        held += each
        found.append(held)
    return found
