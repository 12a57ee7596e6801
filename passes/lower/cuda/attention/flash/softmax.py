# SPDX-License-Identifier: MIT OR Apache-2.0
"""The online softmax of the rows whose scores a thread holds.

Milakov and Gimelshein, "Online normalizer calculation for softmax" (2018).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import reduce

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import across, exp2
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout, Matrix
from xyntra.passes.lower.gpu.attention.masks import LOG2_E
from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.attention.values import Registers, finite, fused, larger, real

Combine = Callable[[Scalar, Scalar], Scalar]
_CHAINS = 4  # partial maxima and sums that do not wait for each other


@dataclass(frozen=True)
class ThreadRowState:
    """The online-softmax state of a thread's rows.

    Attributes:
        top: the largest scores so far, the same in all lanes of a row; -inf before any.
        total: the lane's own totals of exponentials.
        accumulators: weighted values.
    """

    top: Registers
    total: Registers
    accumulators: Matrix

    @staticmethod
    def empty(layout: FragmentLayout) -> ThreadRowState:
        """Before the first key."""
        rows = len(layout.rows)
        zeros = [[real(0.0)] * len(layout.columns) for _ in range(rows)]
        return ThreadRowState([real(float("-inf"))] * rows, [real(0.0)] * rows, zeros)

    @property
    def registers(self) -> Registers:
        """Return the values of the state in the order in which `restored` takes them."""
        return [*self.top, *self.total, *(each for row in self.accumulators for each in row)]

    def restored(self, values: Registers) -> ThreadRowState:
        """A state of the same shape from what `registers` gave."""
        rows = len(self.top)
        width = len(self.accumulators[0])
        rest = values[2 * rows :]
        accumulators = [rest[start : start + width] for start in range(0, rows * width, width)]
        return ThreadRowState(values[:rows], values[rows : 2 * rows], accumulators)


def unit(problem: Problem) -> float:
    """Return what scores are multiplied by to become powers of two."""
    return problem.op.scale * LOG2_E if problem.is_raw else LOG2_E


def renewed(
    problem: Problem, layout: FragmentLayout, scores: Matrix, state: ThreadRowState
) -> tuple[Matrix, ThreadRowState]:
    """Weights of a step, and the state with their totals, rescaled to the new maximum."""
    weights: Matrix = []
    tops, totals, accumulators = [], [], []
    for row, old, total, line in zip(
        scores, state.top, state.total, state.accumulators, strict=True
    ):
        largest = across(_folded(row, larger), layout.lanes, larger)
        top = larger(old, largest)
        reference = finite(top)
        factor = exp2((old - reference) * unit(problem))
        weight = _exponentials(problem, row, reference)
        weights.append(weight)
        tops.append(top)
        totals.append(fused(total, factor, _folded(weight, lambda a, b: a + b)))
        accumulators.append([each * factor for each in line])
    return weights, ThreadRowState(tops, totals, accumulators)


def _exponentials(problem: Problem, row: Registers, reference: Scalar) -> Registers:
    factor = unit(problem)
    if not problem.is_raw:  # a product of the factor and the lowest number would overflow
        return [exp2((each - reference) * factor) for each in row]
    shift = -(reference * factor)
    return [exp2(fused(each, real(factor), shift)) for each in row]


def _folded(values: Registers, combine: Combine) -> Scalar:
    chains = values[:_CHAINS]
    for place, value in enumerate(values[_CHAINS:]):
        chains[place % _CHAINS] = combine(chains[place % _CHAINS], value)
    return reduce(combine, chains)
