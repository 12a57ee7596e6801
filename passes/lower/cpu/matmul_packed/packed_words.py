# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products of few rows with a matrix of 4 or 8 bits that is read in words of 32 bits.

The speed of a few rows is that of reading the matrix, if dequantizing it takes no longer. A vector
of words holds four or eight vectors of integers, each of which becomes floats in three instructions
and meets all rows of a tile.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import WIDTHS, PackedProduct
from xyntra.passes.lower.cpu.matmul_packed.word_plan import (
    FEW_ROWS,
    MOST_ROWS,
    WordChoices,
    WordProduct,
    check_words,
)
from xyntra.passes.lower.cpu.matmul_packed.word_tiles import WordTiles
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import NestEmitter
from xyntra.passes.lower.cpu.schedule.told import bad_schedule

__all__ = ["PackedWords"]


class PackedWords(NestEmitter):
    """Emits products of few rows with a packed matrix."""

    name = "packed-words"
    choices = WordChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> WordChoices | None:
        """Return the widest vector, for one row or two."""
        found = _product(place)
        if found is None or found.found.rows > FEW_ROWS:
            return None
        lanes = found.lanes(machine.registers(place.initial.type))
        return WordChoices(lanes[0], found.tile) if lanes else None

    def check(self, place: Filled, choices: WordChoices) -> None:
        """Check that tiles fit the output, and vectors blocks."""
        found = _product(place)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        check_words(place, found, choices)

    def group(self, place: Filled, choices: WordChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: WordChoices) -> None:
        """Emit everything."""
        found = _product(place, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        WordTiles(found, choices, place.initial).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[WordChoices]:
        """Yield all tiles."""
        found = _product(place)
        if found is None:
            return
        for vector in found.lanes(machine.registers(place.initial.type)):
            for height in range(1, min(found.found.rows, MOST_ROWS) + 1):
                for width in WIDTHS:
                    for ahead in (0, 1024, 4096):
                        yield WordChoices(vector, (height, width), ahead)


def _product(place: Filled, *, flat: bool = False) -> WordProduct | None:
    reduction = place.reduction(epilogue=False, flat=flat)
    found = None if reduction is None else PackedProduct.of(reduction.nest)
    return None if found is None else WordProduct.of(found)
