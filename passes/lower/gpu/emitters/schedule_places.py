# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the legal schedules of every stage of a kernel for a GPU."""

from __future__ import annotations

from itertools import islice

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import schedule_of
from xyntra.passes.analysis.kernel_function import (
    check_contract,
    kernel_function,
    kernel_named,
)
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.families import Families, families_of, legal_schedules
from xyntra.passes.lower.gpu.stages.stage import Stage, stages_of
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.passes.lower.kernels.schedule_place import MOST_LISTED, SchedulePlace

__all__ = ["schedule_places"]


def schedule_places(module: ir.Module, device: GpuDevice) -> list[SchedulePlace]:
    """Return the stages of a kernel, in order; `module` cannot be used afterwards.

    Args:
        module: holds one kernel on tensors.
        device: that the code is for.

    Raises:
        CompileError: the kernel cannot be lowered so far.
    """
    operation = module.operation
    function = kernel_function(operation)
    check_contract(function)
    families = families_of(device)
    with kernel_named(function), operation.context, operation.location:
        stages = stages_of(kernel_function(to_stages(operation, device)))
        return [_place(stage, families, device) for stage in stages]


def _place(stage: Stage, families: Families, device: GpuDevice) -> SchedulePlace:
    chosen = schedule_of(stage.op)
    if chosen is None:
        return SchedulePlace(None)
    found = list(islice(legal_schedules(stage, families, device), MOST_LISTED))
    return SchedulePlace(chosen, tuple(found if chosen in found else [chosen, *found]))
