# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers one kernel to launches for all sizes of a range, by what samples of it have in common.

Stages are formed at every sample, and have to be alike but for sizes. The schedules of the first
sample hold for all. Code is made at two samples; what the launches and their threads are told of
sizes are expressions, so that both have to come out equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE, schedule_of, set_schedule
from xyntra.passes.analysis.kernel_function import (
    check_contract,
    direct_operations_named,
    kernel_function,
    kernel_named,
)
from xyntra.passes.analysis.sizes.agreement import Agreement, agree
from xyntra.passes.analysis.sizes.session import Guard, lowering, not_free
from xyntra.passes.fallbacks import GENERIC_LOOPS
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.families import choose_schedule, families_of
from xyntra.passes.lower.gpu.launching.told_sizes import LaunchSizes
from xyntra.passes.lower.gpu.stages.stage import stages_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.passes.lower.kernels.told_sizes import Symbols, set_sizes

__all__ = ["VARIANTS", "lower_free"]

Code = TypeVar("Code")
PLAIN = "loops"
SAMPLE = "sample"
VARIANTS = ("", SAMPLE, PLAIN)
"""How kernels are scheduled, in order of preference: as is best for usual sizes, as for the first
sample, and as plain loops, which are right for all sizes."""


@dataclass(frozen=True)
class _Staged:
    """A kernel at one sample, as stages."""

    module: ir.Operation
    function: ir.Operation


def lower_free(
    modules: Sequence[ir.Module],
    symbols: Symbols,
    device: GpuDevice,
    variant: str,
    finish: Callable[[ir.Operation], Code],
) -> tuple[Code, tuple[Guard, ...]]:
    """Return code for all sizes that guards allow, and these.

    Args:
        modules: the kernel at each sample, as tensors; they cannot be used afterwards.
        symbols: what is known of the sizes.
        device: that the code is for.
        variant: one of `VARIANTS`, or another name for what is best for usual sizes.
        finish: makes code of a module with launches, which is compared.

    Raises:
        CompileError: `kernel-not-free`, the stages differ in more than sizes, or code depends on a
            size in a way that is not recorded.
        MLIRError: one of the steps failed.
    """
    staged = [_staged(module.operation, device, variant) for module in modules]
    _same_schedules(staged)
    agreement = agree([each.module for each in staged], symbols.samples)
    if variant not in (SAMPLE, PLAIN):
        _reschedule(staged, agreement, symbols, device)
    found = []
    for number, each in enumerate(staged[:2]):
        facts = symbols.samples[number], symbols.hints, symbols.ranges
        current = LaunchSizes(each.function, agreement.numbers[number], *facts)
        with (
            kernel_named(each.function),
            each.module.context,
            each.module.location,
            lowering(current),
        ):
            set_sizes(each.module, agreement, current)
            found.append((finish(to_gpu(each.module, device)), tuple(current.guards)))
    if found[0] != found[1]:
        raise not_free("its code depends on the sizes in a way that is not known")
    return found[0]


def _staged(module: ir.Operation, device: GpuDevice, variant: str) -> _Staged:
    function = kernel_function(module)
    check_contract(function)
    with kernel_named(function), module.context, module.location:
        if variant == PLAIN:
            function.attributes[GENERIC_LOOPS] = ir.UnitAttr.get()
        staged = to_stages(module, device)
    return _Staged(staged, kernel_function(staged))


def _reschedule(
    staged: Sequence[_Staged], agreement: Agreement, symbols: Symbols, device: GpuDevice
) -> None:
    """Give the stages of all samples the schedules that are best for usual sizes."""
    copy = staged[0].module.clone().operation
    function = kernel_function(copy)
    facts = agreement.numbers[0], symbols.samples[0], symbols.hints, symbols.ranges
    current = LaunchSizes(function, *facts, is_estimate=True)
    families = families_of(device)
    with kernel_named(function), copy.context, copy.location, lowering(current):
        chosen = []
        for stage in stages_of(function):
            del stage.op.attributes["schedule"]
            chosen.append(choose_schedule(stage, families, device))
    for each in staged:
        with each.module.context:
            stages = direct_operations_named(each.function, STAGE)
            for op, schedule in zip(stages, chosen, strict=True):
                set_schedule(op, schedule)


def _same_schedules(staged: Sequence[_Staged]) -> None:
    """Give the stages of all samples the schedules that those of the first one have."""
    first, *others = (direct_operations_named(each.function, STAGE) for each in staged)
    for stages in others:
        if len(stages) != len(first):
            counts = ", ".join(str(len(each)) for each in (first, *others))
            raise not_free(f"how many launches it takes depends on the sizes: {counts}")
        for one, other in zip(first, stages, strict=True):
            schedule = schedule_of(one)
            if schedule is not None:
                with other.context:
                    set_schedule(other, schedule)
