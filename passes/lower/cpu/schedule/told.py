# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the schedules of nests and loops, and says at which of them one cannot be followed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xyntra.dialects.attributes.schedule import SCHEDULE, Schedule
from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.diagnostics import PassFailure

__all__ = [
    "PARALLEL_LOOPS",
    "LoopChoices",
    "bad_schedule",
    "own_schedule",
    "read_choices",
    "schedule_of",
    "told_loops",
]

PARALLEL_LOOPS = "parallel-loops"
"""What the schedules of loops name."""


@dataclass(frozen=True)
class LoopChoices:
    """The choices for one loop: how threads share it.

    Attributes:
        loops: at most how many loops, from this one inwards, threads share as one; 0 for none.
        grain: the iterations that one thread should do at least in a row; 0 for an estimate.
    """

    loops: int = 0
    grain: int = 0


def told_loops(loops: int, grain: int) -> Schedule:
    """Return the schedule of a loop; the arguments are the fields of `LoopChoices`."""
    return Schedule.told(PARALLEL_LOOPS, LoopChoices(loops, grain))


def schedule_of(op: ir.Operation) -> Schedule | None:
    """Return the schedule of a nest.

    Raises:
        CompileError: what it has is none; the place is the nest's.
    """
    try:
        return Schedule.of(op)
    except CompileError as error:
        raise bad_schedule(op, error.message) from error


def read_choices(op: ir.Operation, schedule: Schedule, kind: type[Any]) -> Any:
    """Return what the schedule of `op` tells, as a dataclass; raises as `schedule_of` does."""
    try:
        return schedule.read(kind)
    except CompileError as error:
        raise bad_schedule(op, error.message) from error


def bad_schedule(op: ir.Operation, message: str) -> PassFailure:
    """Return the error to raise where the schedule of `op` cannot be followed."""
    return PassFailure.at(op, message, code="bad-schedule")


def own_schedule(op: ir.Operation) -> bool:
    """Tell whether code of its own is to be made of `op`."""
    return SCHEDULE in op.attributes
