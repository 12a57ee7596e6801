# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the tile of an f32 contraction by fused multiply-adds, or refuses the contraction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from xyntra.passes.lower.cuda.matmul.fma.factor import FmaFactor
from xyntra.passes.lower.cuda.matmul.fma.tiles import DEPTH, VECTOR, FmaTile, choose_fma_tile
from xyntra.passes.lower.cuda.matmul.mma.kind import MmaKind, mma_kind
from xyntra.passes.lower.cuda.matmul.mma.plan import order, sizes_of
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.matmul.roles import Roles, outputs, size
from xyntra.passes.lower.loops.linear_nest import LinearNest

_PLACES = 32  # registers for where more rows lie in an image that is read around its padding
# With more accumulators, four steps of a row in adjacent registers made multiply-adds wait for each
# other: on an H100, 4096 x 4096 x 4096 took 3.2 ms by them, and 2.7 without.
_FEW_SUMS = 16  # of a thread
_MANY_ROWS = 32  # of a tile
_MANY_SINGLES = 32  # rows, or columns, of a tile
_FEW_COLUMNS = 8  # of a product, of which tiles have 32 at least
_SURE = 0.5  # of the time of a product, in which the turned one surely takes less


@dataclass(frozen=True)
class FmaPlan:
    """A contraction in f32 that every thread computes a part of, as exactly as f32 is.

    Attributes:
        device: that the code is for.
        nest: the contraction.
        roles: of its loops, the reductions in the order in which the factors run.
        tile: the tiles.
        left: the left factor.
        right: the right factor.
    """

    device: GpuDevice
    nest: LinearNest
    roles: Roles
    tile: FmaTile
    left: FmaFactor
    right: FmaFactor

    @property
    def parts(self) -> int:
        """Parts of the reduction."""
        return -(-size(self.nest, self.roles.reductions) // DEPTH)

    @property
    def microseconds(self) -> float:
        """An estimate of how long it takes, which was fitted to an H100."""
        rows, columns, batch = (size(self.nest, loops) for loops in outputs(self.roles))
        return self.tile.microseconds(self.device, rows, columns, batch, self.parts)

    @property
    def resident(self) -> int:
        """Blocks that one multiprocessor has registers for."""
        reads_around = any(each.windows for each in (self.left, self.right))
        many = 2 * max(self.tile.rows, self.tile.columns) > self.tile.threads  # over four a thread
        return self.tile.bound(self.device, _PLACES if reads_around and many else 0)

    @property
    def copies_singles(self) -> bool:
        """Tell whether threads copy many single elements: those of a wide factor."""
        return any(
            each.lanes < VECTOR and each.width >= _MANY_SINGLES for each in (self.left, self.right)
        )

    def factor(self, number: int) -> FmaFactor:
        """Return the factor that is input `number` of the nest."""
        return self.left if number == self.roles.left else self.right


def plan_fma(
    nest: LinearNest,
    roles: Roles,
    device: GpuDevice,
    *,
    tile: FmaTile | None = None,
    windows: Mapping[int, tuple[ImagePosition, ...]] | None = None,
) -> FmaPlan | None:
    """Return how threads compute `nest`; None where it is no product in f32, or too small.

    Args:
        nest: a contraction.
        roles: which of its loops are batch, M, N and K.
        device: that the code is for.
        tile: the tiles; None to choose them.
        windows: for the factors that may be read outside of their memory, for zeros, in which
            dimensions.
    """
    kind = mma_kind(nest, roles, tf32=True) if device.has(Feature.ASYNC_COPIES) else None
    if kind is None or (kind.left, kind.right) != ("tf32", "tf32"):
        return None
    wanted = _Wanted(nest, device, kind, windows)
    known = roles.turned if _is_faster_turned(wanted, roles) else roles
    return _planned(wanted, known, tile)


@dataclass(frozen=True)
class _Wanted:
    """A matmul in f32 to be planned, and what it is computed on.

    Attributes:
        nest: the product.
        device: that the code is for.
        kind: of its factors.
        windows: as `plan_fma` has it.
    """

    nest: LinearNest
    device: GpuDevice
    kind: MmaKind
    windows: Mapping[int, tuple[ImagePosition, ...]] | None


def _is_faster_turned(wanted: _Wanted, roles: Roles) -> bool:
    """Tell whether few columns had better be the rows of a tile, of which there are low ones."""
    if size(wanted.nest, roles.columns) > _FEW_COLUMNS:
        return False
    plan, turned = (_planned(wanted, each, None) for each in (roles, roles.turned))
    if plan is None or turned is None:
        return False
    return turned.microseconds < _SURE * plan.microseconds


def _planned(wanted: _Wanted, roles: Roles, tile: FmaTile | None) -> FmaPlan | None:
    nest, device = wanted.nest, wanted.device
    sizes = sizes_of(nest, roles)
    if sizes is None:
        return None
    rows, columns, batch, steps = sizes
    roles = replace(roles, reductions=order(nest, roles))
    parts = -(-steps // DEPTH)
    factors = FmaFactor.both(nest, roles, wanted.kind, (VECTOR, VECTOR), wanted.windows)
    if factors is None:
        return None
    in_vectors = all(each.lanes == VECTOR for each in factors)
    tile = tile or choose_fma_tile(device, rows, columns, batch, parts, in_vectors=in_vectors)
    if tile is None:
        return None
    left, right = (
        replace(each, width=width)
        for each, width in zip(factors, (tile.rows, tile.columns), strict=True)
    )
    if tile.own_rows * tile.own_columns <= _FEW_SUMS:
        if tile.rows >= _MANY_ROWS:
            left = left.deep(tile.lane_rows)
        elif right.has_quads and not any(nest.outputs[0].strides[i] == 1 for i in roles.columns):
            right = right.deep(tile.lane_columns)
    return FmaPlan(device, nest, roles, tile, left, right)
