# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a warpgroup's rows: four lanes exchange pairs, so that each has eight in a row."""

from __future__ import annotations

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.hopper.softmax import Softmax
from xyntra.passes.lower.cuda.attention.machine import (
    across,
    exchanged,
    packed_pairs,
    start_address,
    store_global,
)
from xyntra.passes.lower.gpu.attention.problem import Outer, Problem
from xyntra.passes.lower.gpu.attention.values import Registers, real, when

_LANES = 4
_APART = 8  # rows of a thread
_WORDS = 4  # pairs of a lane in 32 columns
_WIDTH = 32
_CHUNK = 8


def write_rows(problem: Problem, outer: Outer, first: Scalar, lane: Scalar, state: Softmax) -> None:
    """Divide the accumulators of a thread's rows by their totals and write them.

    Args:
        problem: the attention.
        outer: the batch and the head.
        first: the thread's first row, int32.
        lane: uint32.
        state: of the finished rows.
    """
    s, e = problem.sizes[2], problem.sizes[5]
    result = problem.result
    base = start_address(result, outer) + ((lane & 3) * (_CHUNK * result.item_bytes)).cast("uint64")
    flags = ((lane & 1).equals(1), (lane & 2).equals(2))
    for row in (0, 1):
        place = first + _APART * row
        down = place.cast("uint32").cast("uint64") * (result.strides[0] * result.item_bytes)
        line, is_there = base + down, place < s
        divide = _Division(problem, state, row)
        mine = [each for i, each in enumerate(state.accumulators) if i // 2 % 2 == row]
        for number in range(len(mine) // (2 * _WORDS)):
            part = [divide(each) for each in mine[2 * _WORDS * number : 2 * _WORDS * (number + 1)]]
            quad = _transposed(packed_pairs(part, problem.dtype), flags)
            with when(is_there):
                _store(line + number * _WIDTH * result.item_bytes, quad, lane, number, e)


def _store(address: Scalar, quad: Registers, lane: Scalar, number: int, size: int) -> None:
    if _WIDTH * (number + 1) <= size:
        store_global(address, quad)
    elif _WIDTH * number < size:
        with when((lane & 3) * _CHUNK < size - _WIDTH * number):
            store_global(address, quad)


class _Division:
    """Divides by a row's total: NaN, or 0, where there is none."""

    def __init__(self, problem: Problem, state: Softmax, row: int) -> None:
        total = across(state.total[row], _LANES, lambda a, b: a + b)
        rule = problem.op.masked_rows
        self._is_good = total > 0.0 if rule == "zero" else total.differs(0.0)
        other = float("nan") if rule == "nan" else 0.0
        self._factor = self._is_good.select(real(1.0) / total, other)
        self._clears = rule == "zero"

    def __call__(self, value: Scalar) -> Scalar:
        quotient = value * self._factor
        # Sums of a row with NaN among its scores are NaN; nothing of them may stay.
        return self._is_good.select(quotient, 0.0) if self._clears else quotient


def _transposed(words: Registers, flags: tuple[Scalar, Scalar]) -> Registers:
    """Transpose the words of four lanes: lane i gets word i of all of them."""
    found = list(words)
    for flag, distance, pairs in (
        (flags[0], 1, ((0, 1), (2, 3))),
        (flags[1], 2, ((0, 2), (1, 3))),
    ):
        for low, high in pairs:
            received = exchanged(flag.select(found[low], found[high]), distance)
            found[low] = flag.select(received, found[low])
            found[high] = flag.select(found[high], received)
    return found
