# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums up the predicted cost of a call, before and after fusion."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.observe.launches import Launch
from xyntra.plan.costs.cost import Unfused
from xyntra.plan.plan import Plan


@dataclass(frozen=True)
class Totals:
    """Sums over the launches of a call; what is not known of every launch is None.

    Attributes:
        unfused: the same with one kernel an operation.
        kernels: launches.
        bytes: bytes that they move.
        flops: floating-point operations.
        predicted: nanoseconds that the cost model expects.
        measured: nanoseconds that they took.
    """

    unfused: Unfused | None
    kernels: int
    bytes: int
    flops: int
    predicted: float | None
    measured: int | None


def totals_of(plan: Plan, called: Sequence[Launch]) -> Totals:
    """The totals of the launches of a call."""
    predicted = [k.predicted for k in (x.kernel for x in called) if k.predicted is not None]
    measured = [launch.measured for launch in called if launch.measured is not None]
    return Totals(
        plan.unfused,
        len(called),
        sum(launch.kernel.bytes for launch in called),
        sum(launch.kernel.flops for launch in called),
        sum(predicted) if len(predicted) == len(called) else None,
        sum(measured) if len(measured) == len(called) and called else None,
    )
