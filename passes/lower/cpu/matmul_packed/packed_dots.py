# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products of few rows of 8 bits with a matrix of 4 bits, by dot products of integers.

The matrix is read once, in the order of memory, and no integer becomes a float: a vector of bytes
takes two instructions for its products where the processor has such for bytes.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul_int8.dot_products import KINDS, small_dot_product
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import WIDTHS, PackedProduct
from xyntra.passes.lower.cpu.matmul_packed.rounded_plan import RoundedChoices, RoundedProduct
from xyntra.passes.lower.cpu.matmul_packed.rounded_tiles import RoundedTiles
from xyntra.passes.lower.cpu.matmul_packed.word_plan import MOST_ROWS, check_words
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import NestEmitter, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule

__all__ = ["PackedDots"]


class PackedDots(NestEmitter):
    """Emits products of few rows that are rounded to 8 bits."""

    name = "packed-dots"
    choices = RoundedChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> RoundedChoices | None:
        """Return the widest vector."""
        found = _product(place)
        if found is None:
            return None
        lanes = found.lanes(machine.registers(place.initial.type))
        if not lanes:
            return None
        return RoundedChoices(lanes[0], found.tile, dot=machine.dot_products)

    def check(self, place: Filled, choices: RoundedChoices) -> None:
        """Check that tiles fit the output, and vectors blocks."""
        found = _product(place)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        check_words(place, found, choices)
        allowed = f"allowed are {', '.join(KINDS)}"
        require(choices.dot in KINDS, place, "dot", choices.dot, allowed)

    def group(self, place: Filled, choices: RoundedChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: RoundedChoices) -> None:
        """Emit everything."""
        found = _product(place, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        dot = small_dot_product(choices.dot, choices.vector)
        RoundedTiles(found, choices, place.initial, dot).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[RoundedChoices]:
        """Yield all tiles."""
        found = _product(place)
        if found is None:
            return
        dot = machine.dot_products
        for vector in found.lanes(machine.registers(place.initial.type)):
            for height in range(1, min(found.found.rows, MOST_ROWS) + 1):
                for width in WIDTHS:
                    for ahead in (0, 1024, 4096):
                        yield RoundedChoices(vector, (height, width), ahead, dot=dot)


def _product(place: Filled, *, flat: bool = False) -> RoundedProduct | None:
    reduction = place.reduction(epilogue=False, flat=flat)
    found = None if reduction is None else PackedProduct.of(reduction.nest)
    return None if found is None else RoundedProduct.of(found)
