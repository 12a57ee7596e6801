# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lowers one kernel for all sizes of a range, by what several samples of it have in common."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import SCHEDULE
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    check_contract,
    entry_block,
    kernel_function,
    kernel_named,
    operations_named,
    set_signature,
)
from xyntra.passes.analysis.sizes.agreement import agree
from xyntra.passes.analysis.sizes.instances import KernelAtSizes, made_alike
from xyntra.passes.analysis.sizes.session import (
    MOST_SIZES,
    SIZES,
    Guard,
    SizeSession,
    lowering,
)
from xyntra.passes.analysis.sizes.slices import check_slices
from xyntra.passes.fallbacks import GENERIC_LOOPS
from xyntra.passes.lower.cpu.free_variants import Variant
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import LoweredKernel, finish_nests, to_buffers
from xyntra.passes.lower.kernels.told_sizes import Symbols, set_sizes

__all__ = ["FreeKernel", "lower_free_kernel"]

_Code = tuple[LoweredKernel, tuple[str, ...]]
"""A kernel, and the expressions of its array of sizes."""


@dataclass(frozen=True)
class FreeKernel:
    """One kernel, lowered for all sizes that its guards allow.

    Attributes:
        lowered: the code.
        sizes: the expressions of the elements of its array of sizes, which is its last input.
        guards: what has to hold.
    """

    lowered: LoweredKernel
    sizes: tuple[str, ...]
    guards: tuple[Guard, ...]


def lower_free_kernel(
    modules: Sequence[ir.Module], symbols: Symbols, options: LoweringOptions, variant: Variant
) -> FreeKernel:
    """Return code for all sizes that its guards allow.

    Args:
        modules: the kernel at each sample, as tensors; they cannot be used afterwards.
        symbols: what is known of the sizes.
        options: the machine.
        variant: decides the schedules, at the first sample.

    Raises:
        CompileError: `kernel-not-free`, the nests differ in more than sizes, or code depends on a
            size in a way that is not recorded; `bad-schedule`, or as `lower_kernel`.
    """
    nests = [_nests(module.operation) for module in modules]
    agreement = agree(nests, symbols.samples, told=len(nests))
    check_slices(nests[0], agreement, symbols.ranges, symbols.definitions)
    schedules = _schedules(nests[0].clone().operation, options, variant)

    def make(instance: KernelAtSizes) -> tuple[_Code, tuple[Guard, ...]]:
        module, function = instance.module, kernel_function(instance.module)
        facts = instance.numbers, instance.sizes, symbols.hints, symbols.ranges
        current = SizeSession(function, *facts)
        with kernel_named(function), module.context, module.location, lowering(current):
            _give(module, schedules)
            set_sizes(module, agreement, current)
            lowered = finish_nests(module, options)
        return (lowered, tuple(current.sizes)), tuple(current.guards)

    samples = map(KernelAtSizes, nests, symbols.samples, agreement.numbers)
    (lowered, sizes), guards = made_alike(
        list(samples), agreement, symbols.ranges, symbols.definitions, make
    )
    return FreeKernel(lowered, sizes, guards)


def _nests(module: ir.Operation) -> ir.Operation:
    """Lower a kernel to nests without schedules, with its array of sizes as last input."""
    function = kernel_function(module)
    check_contract(function)
    with kernel_named(function), module.context, module.location:
        block = entry_block(function)
        words = ir.RankedTensorType.get([MOST_SIZES], ir.IntegerType.get_signless(64))
        kind = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        number = ir.IntegerType.get_signless(64)
        function.attributes[SIZES] = ir.IntegerAttr.get(number, len(block.arguments))
        block.add_argument(words, function.location)
        set_signature(function, kind.results)
        return to_buffers(module)


def _schedules(
    nests: ir.Operation, options: LoweringOptions, variant: Variant
) -> list[ir.Attribute | None]:
    """Return the schedules that a variant gives nests, in order."""
    with nests.context, nests.location:
        variant.schedule(nests, options)
    return [each.attributes.get(SCHEDULE, None) for each in _generics(nests)]


def _give(module: ir.Operation, schedules: Sequence[ir.Attribute | None]) -> None:
    """Give the nests of a kernel schedules, in order, and no other ones."""
    function = kernel_function(module)
    if GENERIC_LOOPS in function.attributes:
        del function.attributes[GENERIC_LOOPS]
    for op, schedule in zip(_generics(module), schedules, strict=True):
        if schedule is not None:
            op.attributes[SCHEDULE] = schedule


def _generics(module: ir.Operation) -> list[ir.Operation]:
    return operations_named(module, "linalg.generic")
