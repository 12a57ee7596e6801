# SPDX-License-Identifier: MIT OR Apache-2.0
"""The online softmax of a consumer warpgroup, between the two matmuls of a step.

A row's reference follows its maximum only when that has grown by more than 2^8: sums and weights
stay far from overflow, and mostly nothing needs to be scaled. Whether a row has grown is seen from
the bits of its scores, which as integers are in the order of the numbers above zero.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, emit
from xyntra.passes.lower.cuda.attention.machine import across, exp2
from xyntra.passes.lower.cuda.ptx.warps import vote_any
from xyntra.passes.lower.gpu.attention.values import Registers, fused, larger, real, replaced_when

NONE_YET = (2 - 2.0**-23) * 2.0**127
"""The negated reference of a row without a score above -inf: its weights come out as 0."""
_GROWTH = 8.0  # in powers of two
_CHAINS = 2
_LANES = 4


@dataclass(frozen=True)
class Scale:
    """The scaling of scores to exponents of two.

    Raw scores are products of queries and keys, and their references are in powers of two. Others
    may be the lowest numbers there are, so that the reference is subtracted first.

    Attributes:
        unit: scores times `unit` are exponents of two.
        is_raw: see above; `unit` is positive then.
    """

    unit: float
    is_raw: bool

    def exponent(self, score: Scalar, shift: Scalar) -> Scalar:
        """The exponent of two of a weight."""
        if self.is_raw:
            return fused(score, real(self.unit), shift)
        return (score + shift) * self.unit

    def factor(self, change: Scalar) -> Scalar:
        """Return what a change of the shift multiplies accumulators by."""
        return exp2(change if self.is_raw else change * self.unit)

    def reference(self, top: Scalar) -> Scalar:
        """The shift that makes the weight of a score 1."""
        return fused(top, real(-self.unit), real(-0.0)) if self.is_raw else -top

    @property
    def growth(self) -> float:
        """Return how far a score may exceed the reference."""
        return _GROWTH if self.is_raw else _GROWTH / self.unit


@dataclass(frozen=True)
class Softmax:
    """The online-softmax state of a thread's two rows.

    Attributes:
        shift: the negated references.
        total: the lane's totals of weights.
        accumulators: weighted values; register i belongs to row `i // 2 % 2`.
    """

    shift: Registers
    total: Registers
    accumulators: Registers

    @property
    def registers(self) -> Registers:
        """Return the values of the state in the order in which `of` takes them."""
        return [*self.shift, *self.total, *self.accumulators]

    @staticmethod
    def of(values: Registers) -> Softmax:
        """From what `registers` gave."""
        return Softmax(values[:2], values[2:4], values[4:])

    @staticmethod
    def empty(count: int) -> Softmax:
        """Before the first key, for `count` accumulators."""
        return Softmax([real(NONE_YET)] * 2, [real(0.0)] * 2, [real(0.0)] * count)


def rows_of(scores: Registers) -> list[Registers]:
    """A thread's scores by row."""
    return [[each for i, each in enumerate(scores) if i // 2 % 2 == row] for row in (0, 1)]


def renewed(state: Softmax, scores: Registers, scale: Scale) -> Softmax:
    """The state with references that are close enough to the maxima of `scores`.

    Args:
        state: before.
        scores: of the thread.
        scale: what makes exponents of them.
    """
    rows = rows_of(scores)
    grown = [_has_grown(row, shift, scale) for row, shift in zip(rows, state.shift, strict=True)]

    def exact(values: Registers) -> Registers:
        return _rescaled(Softmax.of(values), rows, scale).registers

    any_lane = Scalar(vote_any((grown[0] | grown[1]).value), "bool")
    return Softmax.of(replaced_when(any_lane, state.registers, exact))


def _has_grown(row: Registers, shift: Scalar, scale: Scale) -> Scalar:
    """Tell whether a score is far above the reference, or may be: below zero, bits do not tell."""
    half = len(row) // _CHAINS
    chains = [_largest_bits(row[k * half : (k + 1) * half]) for k in range(_CHAINS)]
    bits = reduce(lambda a, b: a.maximum(b), chains)
    is_above = scale.exponent(_as(bits, "float32"), shift) > _GROWTH
    is_unsure = (bits <= 0) & (shift > scale.growth)
    return is_above | is_unsure


def _largest_bits(values: Registers) -> Scalar:
    # In threes, for which there is one instruction.
    numbers = [_as(each, "int32") for each in values]
    total = numbers[0]
    for k in range(1, len(numbers) - 1, 2):
        total = total.maximum(numbers[k]).maximum(numbers[k + 1])
    return total.maximum(numbers[-1]) if len(numbers) % 2 == 0 else total


def _as(value: Scalar, dtype: str) -> Scalar:
    kind = ir.F32Type.get() if dtype == "float32" else ir.IntegerType.get_signless(32)
    return Scalar(emit("arith.bitcast", [value.value], kind), dtype)


def _rescaled(state: Softmax, rows: list[Registers], scale: Scale) -> Softmax:
    """The state with the maxima as references."""
    shifts, factors = [], []
    for row, old in zip(rows, state.shift, strict=True):
        top = across(_largest(row), _LANES, larger)
        new = _smaller(old, _smaller(scale.reference(top), real(NONE_YET)))
        shifts.append(new)
        factors.append(scale.factor(new - old))
    totals = [total * factor for total, factor in zip(state.total, factors, strict=True)]
    accumulators = [each * factors[i // 2 % 2] for i, each in enumerate(state.accumulators)]
    return Softmax(shifts, totals, accumulators)


def _largest(values: Registers) -> Scalar:
    chains = values[:_CHAINS]
    for place, value in enumerate(values[_CHAINS:]):
        chains[place % _CHAINS] = larger(chains[place % _CHAINS], value)
    return reduce(larger, chains)


def _smaller(a: Scalar, b: Scalar) -> Scalar:
    return Scalar(emit("arith.minnumf", [a.value, b.value], a.value.type), a.dtype)
