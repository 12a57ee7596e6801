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
from xyntra.passes.analysis.sizes.session import not_free
from xyntra.passes.fallbacks import GENERIC_LOOPS
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.pipeline import schedule
from xyntra.passes.lower.cpu.rows.nest_loops import SCALAR_LOOPS, is_suitable
from xyntra.passes.lower.cpu.rows.vector_nests import in_row_order
from xyntra.passes.lower.kernels.attention_carrier import carry_attention
from xyntra.passes.lower.loops.linear_nest import collapsed, linear_nest

__all__ = ["VARIANTS", "Variant", "variant_named"]

_TILES_OF_ROWS = frozenset({"register-tiles", "convolution-tiles", "winograd-tiles"})
_TILES_OF_A_BLOCK = 4  # of transformed tiles, of which there may be as few as in one image


@dataclass(frozen=True)
class Variant:
    """A way to schedule a kernel.

    Attributes:
        name: "" for the usual one.
        change: what it changes in the usual schedules.
        is_apart: whether nests that would share loops over rows have loops of their own.
        is_plain: whether every nest becomes plain loops instead.
    """

    name: str
    change: Callable[[Schedule], Schedule] = lambda usual: usual
    is_apart: bool = False
    is_plain: bool = False

    def prepared(self, module: ir.Module) -> ir.Module:
        """Return the kernel as tensors, for nests that can have these schedules."""
        if self.is_plain:
            operation = module.operation
            with operation.context, operation.location:
                carry_attention(operation, plain=True)
        return module

    def schedule(self, module: ir.Operation, options: LoweringOptions) -> None:
        """Give the nests of `module` their schedules.

        Raises:
            CompileError: `kernel-not-free`, they are the usual ones.
        """
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
        schedule(module, options)  # what a changed schedule does not compute any more
        if self.is_apart and not _set_apart(module, options):
            raise not_free("its nests share no loops")


def _for_any_size(usual: Schedule) -> Schedule:
    """Return a schedule without what pays for large sizes alone, or has tables for one size.

    The first is storing past the caches, the second convolutions that leave padding out.
    """
    left_out = {"past_caches"}
    if usual.emitter == "convolution-tiles":
        left_out.add("padding")
    choices = {name: value for name, value in usual.choices.items() if name not in left_out}
    return replace(usual, choices=choices)


def _set_apart(module: ir.Operation, options: LoweringOptions) -> bool:
    """Let every nest have loops of its own; tells whether some shared theirs."""
    found = False
    while True:
        shared = []
        for op in operations_named(module, "linalg.generic"):
            known = Schedule.of(op) if SCHEDULE in op.attributes else None
            nests = 1 if known is None else known.choices.get("nests", 1)
            if known is not None and isinstance(nests, int) and nests > 1:
                shared.append((op, known))
        if not shared:
            return found
        found = True
        op, known = shared[0]
        choices = {name: value for name, value in known.choices.items() if name != "nests"}
        replace(known, choices=choices).attach(op)
        _reschedule(op)
        schedule(module, options)


def _reschedule(op: ir.Operation) -> None:
    """Take a schedule away that does not fit one nest alone, for another one to be chosen."""
    nest = collapsed(linear_nest(op, flat=False))
    known = Schedule.of(op)
    if known is not None and known.emitter == "vector-rows" and in_row_order(nest) is None:
        Schedule(SCALAR_LOOPS).attach(op)


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
    Variant("apart", is_apart=True),
    Variant("rows6", _rows_of(6)),
    Variant("rows2", _rows_of(2)),
    Variant("rows1", _rows_of(1)),
    Variant("loops", is_plain=True),
)
"""In order of preference."""


def variant_named(name: str) -> Variant:
    """Return a variant."""
    return next(each for each in VARIANTS if each.name == name)
