# SPDX-License-Identifier: MIT OR Apache-2.0
"""Emits products of rows with a matrix of bytes, which is dequantized in registers or a cache.

The bytes of a column of the product lie along the reduction, and hold one integer or two. Lanes of
vectors run along them, as they lie in memory: each vector is dequantized once, and meets all rows
of a tile. Nothing of the matrix is copied, so that the speed of one row is that of reading it.
Where many rows meet it, a block of columns is dequantized into the second-level cache first. What
the rows hold is copied, where the integers of a byte make its neighbours strides apart.
"""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.machine import LoweringOptions
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import (
    MIN_LANES,
    TILE_ROWS,
    WIDTHS,
    PackedChoices,
    PackedProduct,
)
from xyntra.passes.lower.cpu.matmul_packed.packed_tiles import PackedTiles, with_plain_rows
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import NestEmitter, require
from xyntra.passes.lower.cpu.schedule.told import bad_schedule

__all__ = ["PackedRows"]

_MOST_TILE_ROWS = 12


class PackedRows(NestEmitter):
    """Emits products of rows with a matrix of bytes."""

    name = "packed-rows"
    choices = PackedChoices

    def choose(self, place: Filled, machine: LoweringOptions) -> PackedChoices | None:
        """Return the largest tile, and a block of columns where many rows meet them."""
        found = _product(place)
        registers = machine.registers(place.initial.type)
        vectors = [] if found is None else found.vectors(registers)
        if found is None or not vectors:
            return None
        tile = found.tile(registers)
        return PackedChoices(vectors[0], tile, found.block(tile[1]))

    def check(self, place: Filled, choices: PackedChoices) -> None:
        """Check that tiles fit the output, and vectors a block."""
        found = _product(place)
        if found is None:
            raise bad_schedule(place.op, f"{self.name} makes no code of this")
        steps, vector, tile = found.nest.loops[found.step].extent, choices.vector, choices.tile
        is_divisor = vector >= MIN_LANES and _is_power(vector) and steps % vector == 0
        allowed = f"allowed are powers of two from {MIN_LANES} on that divide {steps}"
        require(is_divisor, place, "vector", vector, allowed)
        columns = min(found.nest.loops[found.column].extent, vector, WIDTHS[0])
        fits = len(tile) == 2 and 0 < tile[0] <= min(found.rows, _MOST_TILE_ROWS)
        fits = fits and 0 < tile[1] <= columns and _is_power(tile[1])
        allowed = f"allowed are up to {found.rows} rows, and a power of two up to {columns}"
        require(fits, place, "tile", tile, allowed)
        block, most = choices.block, found.nest.loops[found.column].extent
        fits = block == 0 or (0 < block <= most and block % tile[1] == 0 and found.has_plain_values)
        allowed = f"allowed are 0 and multiples of {tile[1]} up to {most}"
        require(fits, place, "block", block, allowed)

    def group(self, place: Filled, choices: PackedChoices) -> list[ir.Operation]:
        """Return the fill and the product."""
        return place.group(epilogue=False)

    def emit(self, place: Filled, choices: PackedChoices) -> None:
        """Emit everything."""
        found = _product(place, flat=True)
        if found is None:
            raise ValueError("the schedule has not been checked")
        PackedTiles(with_plain_rows(found, choices.vector), choices, place.initial).emit()

    def space(self, place: Filled, machine: LoweringOptions) -> Iterator[PackedChoices]:
        """Yield tiles of one to four rows."""
        found = _product(place)
        if found is None:
            return
        registers = machine.registers(place.initial.type)
        for vector in found.vectors(registers):
            for height in range(1, min(found.rows, TILE_ROWS) + 1):
                for width in WIDTHS:
                    for block in sorted({0, found.block(width)}):
                        yield PackedChoices(vector, (height, width), block)


def _product(place: Filled, *, flat: bool = False) -> PackedProduct | None:
    found = place.reduction(epilogue=False, flat=flat)
    return None if found is None else PackedProduct.of(found.nest)


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
