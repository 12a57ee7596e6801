# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the legal schedules of every loop nest of a kernel for the CPU."""

from __future__ import annotations

from itertools import islice

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.cpu.emitters import legal_schedules
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import to_nests
from xyntra.passes.lower.cpu.schedule.told import schedule_of
from xyntra.passes.lower.kernels.schedule_place import MOST_LISTED, SchedulePlace

__all__ = ["schedule_places"]


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
    return SchedulePlace(chosen, tuple(found if chosen in found else [chosen, *found]))
