# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the legal schedules of every loop nest of a kernel for the CPU."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu.emitters import legal_schedules
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import to_nests
from xyntra.passes.lower.cpu.schedule.told import schedule_of
from xyntra.passes.lower.kernels.schedule_place import MOST_LISTED, SHARING, SchedulePlace

__all__ = ["schedule_places"]

_SHARED = ((0, 0), (1, 0), (1, 1), (1, 4), (1, 16), (2, 0), (2, 1), (2, 4), (2, 16))
"""Loops that threads share as one, and iterations that one does at least in a row."""
_OTHERS_SHARED = 4


def schedule_places(module: ir.Module, options: LoweringOptions) -> list[SchedulePlace]:
    """Return the nests of a kernel, in order; `module` cannot be used afterwards.

    Args:
        module: holds one kernel on tensors.
        options: the machine.

    Raises:
        CompileError: the kernel cannot be lowered so far.
    """
    nests = to_nests(module, options).operation
    with nests.context:
        return [_place(op, options) for op in operations_named(nests, "linalg.generic")]


def _place(op: ir.Operation, options: LoweringOptions) -> SchedulePlace:
    chosen = schedule_of(op)
    if chosen is None:
        return SchedulePlace(None)
    found = list(islice(legal_schedules(op, options), MOST_LISTED))
    listed = found if chosen in found else [chosen, *found]
    return SchedulePlace(chosen, (*listed, *_by_sharing(chosen, listed)))


def _by_sharing(chosen: Schedule, listed: Sequence[Schedule]) -> Iterator[Schedule]:
    """Yield what is chosen, and what its emitter suggests first, with loops shared otherwise."""
    others = (each for each in listed if each.emitter == chosen.emitter and each != chosen)
    for each in (chosen, *islice(others, _OTHERS_SHARED)):
        if each.choices.keys().isdisjoint(SHARING):
            for loops, grain in _SHARED:
                told = {"shared": loops, "grain": grain}
                own = {name: value for name, value in told.items() if value or name == "shared"}
                yield Schedule(each.emitter, {**each.choices, **own})
