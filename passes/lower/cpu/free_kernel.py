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
from xyntra.passes.analysis.sizes.session import (
    MOST_SIZES,
    SIZES,
    Guard,
    SizeSession,
    lowering,
    not_free,
)
from xyntra.passes.lower.cpu.free_variants import Variant
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import LoweredKernel, finish_nests, to_buffers
from xyntra.passes.lower.kernels.told_sizes import Symbols, set_sizes

__all__ = ["FreeKernel", "FreeNests"]


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


class FreeNests:
    """One kernel as loop nests at several samples, of which code is made with one schedule or more.

    Args:
        modules: the kernel at each sample, as tensors; they cannot be used afterwards.
        symbols: what is known of the sizes.
        options: the machine.

    Raises:
        CompileError: `kernel-not-free`, the nests differ in more than sizes, or as `lower_kernel`.
    """

    def __init__(
        self, modules: Sequence[ir.Module], symbols: Symbols, options: LoweringOptions
    ) -> None:
        self._symbols, self._options = symbols, options
        self._nests = [_nests(module.operation) for module in modules]
        self._name = kernel_function(self._nests[0])
        self._agreement = agree(self._nests, symbols.samples)

    def lower(self, variant: Variant) -> FreeKernel:
        """Make code.

        Args:
            variant: decides the schedules, at the first sample.

        Raises:
            CompileError: `kernel-not-free`, code depends on a size in a way that is not recorded,
                `bad-schedule`, or as `lower_kernel`.
        """
        first, second = (each.clone().operation for each in self._nests[:2])
        with first.context, first.location:
            variant.schedule(first, self._options)
            _same_schedules(first, second)
        kernels = [self._emitted(each, number) for number, each in enumerate((first, second))]
        one, other = kernels
        if one != other:
            raise not_free("its code depends on the sizes in a way that is not known")
        return one

    def _emitted(self, module: ir.Operation, number: int) -> FreeKernel:
        function = kernel_function(module)
        symbols, numbers = self._symbols, self._agreement.numbers[number]
        facts = symbols.samples[number], symbols.hints, symbols.ranges
        current = SizeSession(function, numbers, *facts)
        with kernel_named(function), module.context, module.location, lowering(current):
            set_sizes(module, self._agreement, current)
            lowered = finish_nests(module, self._options)
        return FreeKernel(lowered, tuple(current.sizes), tuple(current.guards))


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


def _same_schedules(first: ir.Operation, second: ir.Operation) -> None:
    pairs = zip(
        operations_named(first, "linalg.generic"),
        operations_named(second, "linalg.generic"),
        strict=True,
    )
    for one, other in pairs:
        if SCHEDULE in one.attributes:
            other.attributes[SCHEDULE] = one.attributes[SCHEDULE]
