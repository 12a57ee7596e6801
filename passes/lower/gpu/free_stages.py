# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers one kernel to launches for all sizes of a range, by what samples of it have in common.

Stages are formed at every sample, and have to be alike but for sizes. All get the schedules that
are best for usual sizes. Code is made at two samples, and at the smallest and largest sizes that
guards allow; what launches and their threads are told of sizes are expressions, so that all have to
come out equal.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.dialects.mlir import ir
from xyntra.dialects.ops.stage import STAGE, schedule_of, set_schedule
from xyntra.passes.analysis.kernel_function import (
    check_contract,
    direct_operations_named,
    kernel_function,
    kernel_named,
)
from xyntra.passes.analysis.sizes.agreement import Agreement, agree
from xyntra.passes.analysis.sizes.instances import KernelAtSizes, made_alike, near_sizes
from xyntra.passes.analysis.sizes.session import Guard, lowering, not_free
from xyntra.passes.analysis.sizes.slices import check_slices
from xyntra.passes.fallbacks import GENERIC_LOOPS
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.families import choose_schedule, families_of
from xyntra.passes.lower.gpu.emitters.nests import in_rounds
from xyntra.passes.lower.gpu.launching.told_sizes import LaunchSizes
from xyntra.passes.lower.gpu.stages.stage import stages_of
from xyntra.passes.lower.gpu.to_gpu import to_gpu
from xyntra.passes.lower.gpu.to_stages import to_stages
from xyntra.passes.lower.kernels.told_sizes import Symbols, set_sizes

__all__ = ["VARIANTS", "lower_free"]

Code = TypeVar("Code")
PLAIN = "loops"
SAMPLE = "sample"
ROUNDS = "rounds"
VARIANTS = ("", SAMPLE, ROUNDS, PLAIN)
"""How kernels are scheduled, in order of preference: as is best for usual sizes, as for the first
sample, with the threads of a block going along rows in as many rounds as these are long, and as
plain loops, which are right for all sizes."""


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
    schedules = _schedules(staged[0])
    for each in staged[1:]:
        _give(each, schedules)
    agreement = agree(staged, symbols.samples, told=len(staged))
    check_slices(staged[0], agreement, symbols.ranges, symbols.definitions)
    if variant not in (SAMPLE, PLAIN):
        rounds = variant == ROUNDS
        schedules = _rescheduled(staged[0], agreement, symbols, device, rounds=rounds)

    def make(instance: KernelAtSizes) -> tuple[Code, tuple[Guard, ...]]:
        module, function = instance.module, kernel_function(instance.module)
        facts = instance.numbers, instance.sizes, symbols.hints, symbols.ranges
        current = LaunchSizes(function, *facts, limit=symbols.limit)
        with kernel_named(function), module.context, module.location, lowering(current):
            _give(module, schedules)
            set_sizes(module, agreement, current)
            return finish(to_gpu(module, device)), tuple(current.guards)

    samples = map(KernelAtSizes, staged, symbols.samples, agreement.numbers)
    near: list[dict[str, int]] = []
    if variant not in (SAMPLE, ROUNDS, PLAIN):
        facts = symbols.hints, symbols.ranges, symbols.limit, symbols.definitions
        near = near_sizes(agreement, *facts)
    return made_alike(list(samples), agreement, symbols.ranges, symbols.definitions, make, near)


def _staged(module: ir.Operation, device: GpuDevice, variant: str) -> ir.Operation:
    function = kernel_function(module)
    check_contract(function)
    with kernel_named(function), module.context, module.location:
        if variant == PLAIN:
            function.attributes[GENERIC_LOOPS] = ir.UnitAttr.get()
        return to_stages(module, device)


def _rescheduled(
    staged: ir.Operation,
    agreement: Agreement,
    symbols: Symbols,
    device: GpuDevice,
    *,
    rounds: bool,
) -> list[Schedule | None]:
    """Return the schedules that are best for usual sizes; `rounds`, for rows of any length.

    Raises:
        CompileError: `kernel-not-free`, with `rounds` there are no others.
    """
    copy = staged.clone().operation
    function = kernel_function(copy)
    sample = symbols.samples[0]  # at which no dimension disappears
    hints = sample if rounds else {name: _odd(size) for name, size in symbols.hints.items()}
    facts = agreement.numbers[0], sample, hints, symbols.ranges
    current = LaunchSizes(function, *facts, is_estimate=True, limit=symbols.limit)
    families = families_of(device)
    with kernel_named(function), copy.context, copy.location, lowering(current):
        chosen: list[Schedule | None] = []
        changed = False
        for stage in stages_of(function):
            del stage.op.attributes["schedule"]
            own = choose_schedule(stage, families, device)
            chosen.append((in_rounds(stage, device) if rounds else None) or own)
            changed = changed or chosen[-1] != own
    if rounds and not changed:
        raise not_free("no rows are held in registers")
    return chosen


def _odd(size: int) -> int:
    """Return a size close to a usual one by which nothing is divisible, as code has to take it."""
    return size - 1 if size > 2 and size % 2 == 0 else size


def _schedules(staged: ir.Operation) -> list[Schedule | None]:
    return [schedule_of(op) for op in _stage_operations(staged)]


def _stage_operations(staged: ir.Operation) -> list[ir.Operation]:
    return direct_operations_named(kernel_function(staged), STAGE)


def _give(staged: ir.Operation, schedules: Sequence[Schedule | None]) -> None:
    """Give the stages of a kernel schedules, in order.

    Raises:
        CompileError: `kernel-not-free`, it has more of them, or fewer.
    """
    stages = _stage_operations(staged)
    if len(stages) != len(schedules):
        counts = f"{len(schedules)} or {len(stages)}"
        raise not_free(f"how many launches it takes depends on the sizes: {counts}")
    with staged.context:
        for op, schedule in zip(stages, schedules, strict=True):
            if schedule is not None:
                set_schedule(op, schedule)
