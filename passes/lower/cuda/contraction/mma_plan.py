# SPDX-License-Identifier: MIT OR Apache-2.0
"""Whether `mma.sync` computes a contraction, and in which tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xyntra.passes.lower.cuda.contraction.implicit_padding import Window
from xyntra.passes.lower.cuda.contraction.mma_factor import MmaFactor
from xyntra.passes.lower.cuda.contraction.mma_kind import MmaKind, mma_kind
from xyntra.passes.lower.cuda.contraction.mma_tiles import ROW_BYTES, MmaTile, choose_mma_tile
from xyntra.passes.lower.cuda.contraction.roles import Roles, size
from xyntra.passes.lower.nests.linear_nest import LinearNest

PROGRAMMATIC = False
"""Whether a launch begins, with copies of weights, while the one before it ends."""
_MIN_REDUCTION = 16
_MIN_WIDTH = 16
_FIRST_CLUSTERS = 90  # the first architecture with clusters


@dataclass(frozen=True)
class MmaPlan:
    """A contraction that tensor cores compute.

    Attributes:
        nest: the contraction.
        roles: of its loops, the reductions in the order in which the factors run.
        kind: the instruction.
        tile: the tiles.
        left: the left factor.
        right: the right factor.
        overlaps: the launch begins while the one before it ends.
    """

    nest: LinearNest
    roles: Roles
    kind: MmaKind
    tile: MmaTile
    left: MmaFactor
    right: MmaFactor
    overlaps: bool

    @property
    def microseconds(self) -> float:
        """An estimate of how long it takes on a large device."""
        rows, columns, batch = (size(self.nest, loops) for loops in outputs(self.roles))
        parts = -(-size(self.nest, self.roles.reductions) // self.left.depth)
        return self.tile.microseconds(rows, columns, batch, parts)

    def factor(self, number: int) -> MmaFactor:
        """Return the factor that is input `number` of the nest."""
        return self.left if number == self.roles.left else self.right


def plan_mma(
    nest: LinearNest,
    roles: Roles,
    architecture: str,
    *,
    tf32: bool = False,
    tile: MmaTile | None = None,
    windows: Mapping[int, tuple[Window, ...]] | None = None,
) -> MmaPlan | None:
    """Return how tensor cores compute `nest`; None where they do not, or where it is too small.

    Args:
        nest: a contraction.
        roles: of its loops.
        architecture: such as "sm_90a".
        tf32: factors of f32 may be rounded to 10 bits of mantissa.
        tile: the tiles; None to choose them.
        windows: for the factors that may be read outside of their memory, for zeros, in which
            dimensions.
    """
    kind = mma_kind(nest, roles, tf32=tf32)
    if kind is None:
        return None
    rows, columns, batch, steps = (
        size(nest, loops) for loops in (roles.rows, roles.columns, roles.batch, roles.reductions)
    )
    if max(rows, columns) < _MIN_WIDTH or steps < _MIN_REDUCTION:
        return None
    roles = replace(roles, reductions=order(nest, roles))
    parts = -(-steps * kind.item // ROW_BYTES)
    clusters = _number(architecture) >= _FIRST_CLUSTERS
    tile = tile or choose_mma_tile(rows, columns, batch, parts, clusters=clusters)
    known = windows or {}
    left, right = (
        MmaFactor(
            nest,
            nest.inputs[number],
            roles.batch,
            loops,
            roles.reductions,
            width,
            kind,
            known.get(number, ()),
        )
        for number, loops, width in (
            (roles.left, roles.rows, tile.rows),
            (roles.right, roles.columns, tile.columns),
        )
    )
    if not left.fits or not right.fits:
        return None
    return MmaPlan(nest, roles, kind, tile, left, right, PROGRAMMATIC and clusters)


def outputs(roles: Roles) -> tuple[tuple[int, ...], ...]:
    """Return the loops of the rows, of the columns, and of the batch."""
    return roles.rows, roles.columns, roles.batch


def order(nest: LinearNest, roles: Roles) -> tuple[int, ...]:
    """Return the reductions, last the one along which the most factors are contiguous."""
    factors = [nest.inputs[roles.left], nest.inputs[roles.right]]

    def key(number: int) -> tuple[int, int, int]:
        steps = [each.strides[number] for each in factors]
        extent = nest.loops[number].extent
        return (steps.count(1), extent if 1 in steps else 0, -max(steps))

    return tuple(sorted(roles.reductions, key=key))


def _number(architecture: str) -> int:
    return int("".join(letter for letter in architecture if letter.isdigit()))
