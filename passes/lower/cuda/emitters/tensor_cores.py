# SPDX-License-Identifier: MIT OR Apache-2.0
"""The emitters that multiply matrices on tensor cores: `mma`, `wgmma` and `wgmma-gather`."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product as combinations

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.cuda.matmul.mma.mma import emit_mma
from xyntra.passes.lower.cuda.matmul.mma.plan import MmaPlan
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile, mma_choices, mma_refusal
from xyntra.passes.lower.cuda.matmul.select import (
    fits_rows,
    plan_of_pixels,
    plan_of_rows,
    plan_on_warps,
)
from xyntra.passes.lower.cuda.matmul.wgmma.conv_factors import GatheredImage
from xyntra.passes.lower.cuda.matmul.wgmma.plan import WgmmaPlan
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import (
    Tile,
    wgmma_choices,
    wgmma_refusal,
)
from xyntra.passes.lower.cuda.matmul.wgmma.wgmma import emit_wgmma
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.device import Feature, GpuDevice
from xyntra.passes.lower.gpu.emitters.emitter import Code, Impossible, StageEmitter, pair, unless
from xyntra.passes.lower.kernels.prepared_operands import is_constant

OVERLAPS = True
"""Whether products on warps bring weights before the launch ahead has ended.

Those with folded norms do, and those of few rows, which take as long as their weights take to
come. In one run on an H100, f16 at batch 1 took without it, and by it: BERT-base 296 and 288 us,
GPT-2 307 and 303, ViT-Tiny 166 and 156. Products of many rows behind launches of norms win nothing.
"""
_FEW_ROWS = 16  # of the smallest tile


@dataclass(frozen=True)
class MmaChoices:
    """The choices of warps that share a contraction.

    Attributes:
        tile: rows and columns of a block.
        warps: above each other, and side by side.
        stages: parts of the factors in shared memory at once.
        split_k: blocks that share the reduction of a tile, one cluster.
        early_weights: bring weights before the launch ahead has ended.
    """

    tile: tuple[int, ...] = ()
    warps: tuple[int, ...] = ()
    stages: int = 2
    split_k: int = 1
    early_weights: bool = False


@dataclass(frozen=True)
class WgmmaChoices:
    """The choices of warpgroups that share a contraction.

    Attributes:
        tile: rows and columns of a block.
        group: rows of tiles that are walked through together.
        split_k: blocks that share the reduction of a tile, one cluster.
        turns: whether two warpgroups multiply in turns, each a tile of its own.
    """

    tile: tuple[int, ...] = ()
    group: int = 8
    split_k: int = 1
    turns: bool = False


def told_tensor_cores(
    plan: WgmmaPlan | MmaPlan, group: ContractionGroup, device: GpuDevice
) -> Schedule:
    """Return the schedule that stands for a plan."""
    if isinstance(plan, WgmmaPlan):
        name = "wgmma-gather" if isinstance(plan.left, GatheredImage) else "wgmma"
        return Schedule.told(name, _of_wgmma(plan.order.tile))
    wins = group.computes_rows or _streams_weights(plan)
    early = OVERLAPS and wins and device.has(Feature.DEPENDENT_LAUNCH)
    return Schedule.told("mma", replace(_of_mma(plan.tile), early_weights=early))


def _streams_weights(plan: MmaPlan) -> bool:
    """Tell whether a product takes as long as one constant factor takes to be read."""
    sides = (plan.tile.columns, plan.left), (plan.tile.rows, plan.right)
    return any(
        side <= _FEW_ROWS and each.is_copied and is_constant(each.access) for side, each in sides
    )


def _of_mma(tile: MmaTile) -> MmaChoices:
    shape, warps = (tile.rows, tile.columns), (tile.warp_rows, tile.warp_columns)
    return MmaChoices(shape, warps, tile.stages, tile.split)


def _of_wgmma(tile: Tile) -> WgmmaChoices:
    return WgmmaChoices((tile.rows, tile.columns), tile.group, tile.split, tile.turns)


def _plan_mma(group: ContractionGroup, choices: MmaChoices, device: GpuDevice) -> Code:
    whole = plan_on_warps(group, device)
    if whole is None or group.slices or group.pairing:
        raise Impossible("cannot compute this contraction")
    rows, columns = pair(choices.tile, "tile")
    down, across = pair(choices.warps, "warps")
    tile = MmaTile(rows, columns, down, across, choices.stages, choices.split_k)
    unless(mma_refusal(tile, device, whole.parts))
    plan = plan_on_warps(group, device, tile)
    if plan is None:
        raise Impossible("cannot compute this contraction in such tiles")
    if group.computes_rows and not fits_rows(group, plan):
        raise Impossible("cannot compute what belongs to rows in such tiles")
    if choices.early_weights and not device.has(Feature.DEPENDENT_LAUNCH):
        raise Impossible("cannot begin before the launch ahead has ended on this device")
    return lambda shared: emit_mma(plan, group, shared, overlaps=choices.early_weights)


def _plan_wgmma(group: ContractionGroup, choices: WgmmaChoices, device: GpuDevice) -> Code:
    return _on_warpgroups(group, choices, device, gathers=False)


def _plan_gather(group: ContractionGroup, choices: WgmmaChoices, device: GpuDevice) -> Code:
    return _on_warpgroups(group, choices, device, gathers=True)


def _on_warpgroups(
    group: ContractionGroup, choices: WgmmaChoices, device: GpuDevice, *, gathers: bool
) -> Code:
    rows, columns = pair(choices.tile, "tile")
    tile = Tile(rows, columns, choices.group, choices.split_k, choices.turns)
    unless(wgmma_refusal(tile))
    make = plan_of_pixels if gathers else plan_of_rows
    plan = make(group, device, tile) if device.has(Feature.WGMMA) else None
    if plan is None:
        raise Impossible("cannot compute this contraction in such tiles")
    if group.computes_rows and not fits_rows(group, plan):
        raise Impossible("cannot compute what belongs to rows in such tiles")
    whole = plan.with_rows(group.values, group.partials)
    if not whole.fits:
        raise Impossible("has no shared memory for such tiles")
    return lambda shared: emit_wgmma(whole, shared)


def _mma_candidates(group: ContractionGroup, device: GpuDevice) -> Iterator[MmaChoices]:
    whole = plan_on_warps(group, device)
    if whole is not None and not group.slices and not group.pairing:
        few = group.computes_rows or _streams_weights(whole)
        flags = (False, True) if few else (False,)
        for tile, early in combinations(mma_choices(device, whole.parts), flags):
            yield replace(_of_mma(tile), early_weights=early)


def _wgmma_candidates(group: ContractionGroup, device: GpuDevice) -> Iterator[WgmmaChoices]:
    if device.has(Feature.WGMMA):
        yield from map(_of_wgmma, wgmma_choices())


MMA = StageEmitter("mma", MmaChoices, _plan_mma, _mma_candidates)
WGMMA = StageEmitter("wgmma", WgmmaChoices, _plan_wgmma, _wgmma_candidates)
GATHER = StageEmitter("wgmma-gather", WgmmaChoices, _plan_gather, _wgmma_candidates)
