# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides the schedules of kernels whose sizes are told: the usual ones, and for what they exclude.

What is best at a sample of the sizes may need as many rows as a tile has. Tiles of one row need no
more than one, and plain loops nothing at all.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from xyntra.dialects.attributes.schedule import SCHEDULE, Schedule
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import kernel_function, operations_named
from xyntra.passes.fallbacks import GENERIC_LOOPS
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import schedule
from xyntra.passes.lower.cpu.rows.nest_loops import SCALAR_LOOPS, is_suitable
from xyntra.passes.lower.kernels.attention_carrier import carry_attention

__all__ = ["VARIANTS", "Variant", "variant_named"]

_TILES_OF_ROWS = frozenset({"register-tiles", "convolution-tiles", "winograd-tiles"})
_TILES_OF_A_BLOCK = 4  # of transformed tiles, of which there may be as few as in one image


@dataclass(frozen=True)
class Variant:
    """A way to schedule a kernel.

    Attributes:
        name: "" for the usual one.
        change: what it changes in the usual schedules.
        is_plain: whether every nest becomes plain loops instead.
    """

    name: str
    change: Callable[[Schedule], Schedule] = lambda usual: usual
    is_plain: bool = False

    def prepared(self, module: ir.Module) -> ir.Module:
        """Return the kernel as tensors, for nests that can have these schedules."""
        if self.is_plain:
            operation = module.operation
            with operation.context, operation.location:
                carry_attention(operation, plain=True)
        return module

    def schedule(self, module: ir.Operation, options: LoweringOptions) -> None:
        """Give the nests of `module` their schedules."""
        if GENERIC_LOOPS in kernel_function(module).attributes:
            del kernel_function(module).attributes[GENERIC_LOOPS]
        if self.is_plain:
            # Each nest by itself: how many may share loops depends on sizes.
            for op in operations_named(module, "linalg.generic"):
                if is_suitable(op):
                    Schedule(SCALAR_LOOPS).attach(op)
            return
        schedule(module, options)
        for op in operations_named(module, "linalg.generic"):
            if SCHEDULE in op.attributes:
                usual = Schedule.of(op)
                if usual is not None:
                    _for_any_size(self.change(usual)).attach(op)


def _for_any_size(usual: Schedule) -> Schedule:
    """Return a schedule without what pays for large sizes alone, or has tables for one size.

    The first is storing past the caches, the second convolutions that leave padding out.
    """
    left_out = {"past_caches"}
    if usual.emitter == "convolution-tiles":
        left_out.add("padding")
    choices = {name: value for name, value in usual.choices.items() if name not in left_out}
    return replace(usual, choices=choices)


def _rows_of(most: int) -> Callable[[Schedule], Schedule]:
    def change(usual: Schedule) -> Schedule:
        choices = dict(usual.choices)
        tile = choices.get("tile")
        if usual.emitter in _TILES_OF_ROWS and isinstance(tile, tuple) and len(tile) == 2:
            height, columns = tile
            rows = min(most, height) if isinstance(height, int) else most
            choices["tile"] = rows, columns
            block = choices.get("block")
            if isinstance(block, int):
                choices["block"] = min(block, _TILES_OF_A_BLOCK * rows)
        return replace(usual, choices=choices)

    return change


VARIANTS = (
    Variant(""),
    Variant("rows6", _rows_of(6)),
    Variant("rows2", _rows_of(2)),
    Variant("rows1", _rows_of(1)),
    Variant("loops", is_plain=True),
)
"""In order of preference."""


def variant_named(name: str) -> Variant:
    """Return a variant."""
    return next(each for each in VARIANTS if each.name == name)
