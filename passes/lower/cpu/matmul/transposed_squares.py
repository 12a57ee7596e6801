# SPDX-License-Identifier: MIT OR Apache-2.0
"""Squares of elements that are transposed in vector registers."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index

__all__ = ["copy_square"]


def copy_square(
    source: BufferOperand,
    target: BufferOperand,
    places: tuple[ir.Value, ir.Value],
    steps: tuple[int, int],
    lanes: int,
) -> None:
    """Copy `lanes` vectors of as many elements; what was a column becomes a vector.

    Args:
        source: what is read.
        target: what is written.
        places: where the first vector is read, and where the first one goes.
        steps: how many elements are between vectors that are read, and between those written.
        lanes: a power of two.
    """
    kind = ir.VectorType.get([lanes], source.element_type)
    rows = []
    for number in range(lanes):
        place = integers.addi(places[0], index(number * steps[0]))
        rows.append(emit("vector.load", [source.value, place], kind))
    for number, row in enumerate(_transposed(rows)):
        place = integers.addi(places[1], index(number * steps[1]))
        ir.Operation.create("vector.store", operands=[row, target.value, place])


def _transposed(rows: Sequence[ir.Value]) -> list[ir.Value]:
    """Transpose a square of vectors, whose size is a power of two, by interleaving halves."""
    half = len(rows) // 2
    rounds = half.bit_length()
    low = [
        lane for pair in zip(range(half), range(2 * half, 3 * half), strict=True) for lane in pair
    ]
    found = list(rows)
    for _ in range(rounds):
        mixed = []
        for first, second in zip(found[:half], found[half:], strict=True):
            for shift in (0, half):
                mask = ir.DenseI64ArrayAttr.get([lane + shift for lane in low])
                mixed.append(emit("vector.shuffle", [first, second], first.type, mask=mask))
        found = mixed
    return found
