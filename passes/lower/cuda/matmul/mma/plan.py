# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides whether `mma.sync` computes a contraction, and in which tiles."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.cuda.matmul.mma.factor import MmaFactor
from xyntra.passes.lower.cuda.matmul.mma.kind import MmaKind, mma_kind
from xyntra.passes.lower.cuda.matmul.mma.tiles import ROW_BYTES, MmaTile, choose_mma_tile
from xyntra.passes.lower.gpu.contraction.row_values import RowValueLoops
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.matmul.roles import Roles, outputs, size
from xyntra.passes.lower.loops.linear_nest import LinearNest

_MIN_REDUCTION = 16
_MIN_WIDTH = 16


@dataclass(frozen=True)
class MmaPlan:
    """A contraction that tensor cores compute.

    Attributes:
        device: that the code is for.
        nest: the contraction.
        roles: of its loops, the reductions in the order in which the factors run.
        kind: the instruction.
        tile: the tiles.
        left: the left factor.
        right: the right factor.
    """

    device: GpuDevice
    nest: LinearNest
    roles: Roles
    kind: MmaKind
    tile: MmaTile
    left: MmaFactor
    right: MmaFactor

    @property
    def parts(self) -> int:
        """Parts of the reduction."""
        return -(-size(self.nest, self.roles.reductions) // self.left.depth)

    @property
    def microseconds(self) -> float:
        """An estimate of how long it takes, which was fitted to an H100."""
        rows, columns, batch = (size(self.nest, loops) for loops in outputs(self.roles))
        return self.tile.microseconds(self.device, rows, columns, batch, self.parts)

    def has_room_for(self, values: RowValueLoops | None) -> bool:
        """Tell whether a block has shared memory for values of its rows, too."""
        more = 0 if values is None else values.table_bytes(self.tile.rows)
        return self.tile.shared_bytes + more <= self.device.block_shared_bytes

    def factor(self, number: int) -> MmaFactor:
        """Return the factor that is input `number` of the nest."""
        return self.left if number == self.roles.left else self.right


def plan_mma(
    nest: LinearNest,
    roles: Roles,
    device: GpuDevice,
    *,
    tf32: bool = False,
    tile: MmaTile | None = None,
    windows: Mapping[int, tuple[ImagePosition, ...]] | None = None,
) -> MmaPlan | None:
    """Return how tensor cores compute `nest`; None where they do not, or where it is too small.

    Args:
        nest: a contraction.
        roles: which of its loops are batch, M, N and K.
        device: that the code is for.
        tf32: factors of f32 may be rounded to 10 bits of mantissa.
        tile: the tiles; None to choose them.
        windows: for the factors that may be read outside of their memory, for zeros, in which
            dimensions.
    """
    kind = mma_kind(nest, roles, tf32=tf32)
    if kind is None or (kind.is_float8 and not device.has(Feature.FLOAT8)):
        return None
    sizes = sizes_of(nest, roles)
    if sizes is None:
        return None
    rows, columns, batch, steps = sizes
    roles = replace(roles, reductions=order(nest, roles))
    parts = -(-steps * kind.item // ROW_BYTES)
    tile = tile or choose_mma_tile(device, rows, columns, batch, parts)
    if tile is None:
        return None
    factors = MmaFactor.both(nest, roles, kind, (tile.rows, tile.columns), windows)
    if factors is None:
        return None
    return MmaPlan(device, nest, roles, kind, tile, *factors)


def sizes_of(nest: LinearNest, roles: Roles) -> tuple[int, int, int, int] | None:
    """Return rows, columns, outputs and steps of the reduction; None where tiles are too large."""
    rows, columns, batch = (size(nest, loops) for loops in outputs(roles))
    steps = size(nest, roles.reductions)
    if max(hint_of(rows), hint_of(columns)) < _MIN_WIDTH or steps < _MIN_REDUCTION:
        return None
    return rows, columns, batch, steps


def order(nest: LinearNest, roles: Roles) -> tuple[int, ...]:
    """Return the reductions, last the one along which the most factors are contiguous."""
    factors = [nest.inputs[roles.left], nest.inputs[roles.right]]

    def key(number: int) -> tuple[int, int, int]:
        steps = [each.strides[number] for each in factors]
        extent = nest.loops[number].extent
        return (steps.count(1), extent if 1 in steps else 0, -max(steps))

    return tuple(sorted(roles.reductions, key=key))
