# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes the lifetimes of temporaries and scratch memory of a plan, from step to step."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.plan.memory import Lifetime
from xyntra.plan.plan import KernelCode, Plan


def lifetimes(plan: Plan, scratch: Callable[[KernelCode], int]) -> dict[tuple[str, int], Lifetime]:
    """Return the lives of a plan's temporaries and of the scratch memory of its steps.

    Args:
        plan: the plan.
        scratch: the bytes of scratch memory that a launch of a kernel needs.

    Returns:
        By ("buffer", number of the buffer) and ("scratch", number of the step).
    """
    uses: dict[int, list[int]] = {}
    for index, step in enumerate(plan.steps):
        for buffer in map(plan.home, (*step.inputs, *step.outputs)):
            if plan.buffers[buffer].kind == "temporary":
                uses.setdefault(buffer, []).append(index)
    found = {
        ("buffer", buffer): Lifetime(plan.buffers[buffer].nbytes, steps[0], steps[-1])
        for buffer, steps in uses.items()
    }
    for index, step in enumerate(plan.steps):
        nbytes = scratch(plan.kernels[step.kernel])
        if nbytes:
            found["scratch", index] = Lifetime(nbytes, index, index)
    return found
