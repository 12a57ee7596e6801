# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rates of learning as functions of the number of the step, from 0."""

from __future__ import annotations

from collections.abc import Callable
from math import cos, pi

__all__ = ["Schedule", "cosine", "linear_warmup", "step_decay"]

Schedule = Callable[[int], float]


def cosine(rate: float, steps: int, *, final: float = 0.0) -> Schedule:
    """Return half a wave from `rate` to `final`, where it stays after `steps`."""
    return lambda step: final + (rate - final) * (1 + cos(pi * min(step / steps, 1.0))) / 2


def step_decay(rate: float, every: int, factor: float = 0.1) -> Schedule:
    """Return `rate`, times `factor` after each `every` steps."""
    return lambda step: rate * factor ** (step // every)


def linear_warmup(schedule: float | Schedule, steps: int) -> Schedule:
    """Return a schedule, or a rate, that grows from 0 in the first steps."""
    rest = schedule if callable(schedule) else lambda _: schedule
    return lambda step: rest(step) * min((step + 1) / steps, 1.0)
