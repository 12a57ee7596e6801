# SPDX-License-Identifier: MIT OR Apache-2.0
"""Classifies the loops of a contraction as batch, M, N and K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest


@dataclass(frozen=True)
class Roles:
    """The loops and factors of a contraction.

    Loops are given by number, outermost first in the output.

    Attributes:
        batch: loops that move both factors, or neither.
        rows: loops that move the left factor only.
        columns: loops that move the right factor only; the output is contiguous along the last
            one, where it is along any.
        reductions: loops that are summed over.
        left: number of the input that is the left factor.
        right: number of the input that is the right factor.
    """

    batch: tuple[int, ...]
    rows: tuple[int, ...]
    columns: tuple[int, ...]
    reductions: tuple[int, ...]
    left: int
    right: int

    @property
    def turned(self) -> Roles:
        """Swap rows and columns: the output is then contiguous along the last of the rows."""
        return Roles(self.batch, self.columns, self.rows, self.reductions, self.right, self.left)

    @classmethod
    def of(cls, nest: LinearNest) -> Roles | None:
        """Return the roles in `nest`; None where it does not combine two factors."""
        if len(nest.outputs) != 1 or nest.indices:
            return None
        factors = [number for number, each in enumerate(nest.inputs) if _moves(nest, each)]
        if len(factors) != 2 or any(
            not each.is_scalar for i, each in enumerate(nest.inputs) if i not in factors
        ):
            return None
        left, right = factors
        rows = _only(nest, left, right)
        columns = _only(nest, right, left)
        if _is_contiguous(nest, rows):
            left, right, rows, columns = right, left, columns, rows
        taken = {*rows, *columns, *nest.reductions}
        batch = [number for number in range(len(nest.loops)) if number not in taken]
        reductions = sorted(nest.reductions, key=lambda i: -abs(nest.inputs[right].strides[i]))
        return cls(
            _by_distance(nest, batch),
            _by_distance(nest, rows),
            _by_distance(nest, columns),
            tuple(reductions),
            left,
            right,
        )


def extents(nest: LinearNest, loops: Sequence[int]) -> list[tuple[int, int]]:
    """Return number and extent of `loops`."""
    return [(number, nest.loops[number].extent) for number in loops]


def size(nest: LinearNest, loops: Sequence[int]) -> int:
    """Return how many iterations `loops` have together."""
    return prod(nest.loops[number].extent for number in loops)


def outputs(roles: Roles) -> tuple[tuple[int, ...], ...]:
    """Return the loops of the rows, of the columns, and of the batch."""
    return roles.rows, roles.columns, roles.batch


def _moves(nest: LinearNest, access: BufferOperand) -> bool:
    return not access.is_scalar and any(access.strides[number] for number in nest.reductions)


def _only(nest: LinearNest, one: int, other: int) -> list[int]:
    return [
        number
        for number, loop in enumerate(nest.loops)
        if not loop.is_reduction
        and nest.inputs[one].strides[number]
        and not nest.inputs[other].strides[number]
    ]


def _is_contiguous(nest: LinearNest, loops: Sequence[int]) -> bool:
    return any(nest.outputs[0].strides[number] == 1 for number in loops)


def _by_distance(nest: LinearNest, loops: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(loops, key=lambda number: -abs(nest.outputs[0].strides[number])))
