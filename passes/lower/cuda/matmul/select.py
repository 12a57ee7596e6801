# SPDX-License-Identifier: MIT OR Apache-2.0
"""Estimates every emitter's time for a contraction, and selects the fastest."""

from __future__ import annotations

from xyntra.passes.lower.cuda.matmul.fma.plan import FmaPlan, plan_fma
from xyntra.passes.lower.cuda.matmul.fma.tiles import FmaTile
from xyntra.passes.lower.cuda.matmul.mma.kind import MmaKind, mma_kind
from xyntra.passes.lower.cuda.matmul.mma.plan import MmaPlan, plan_mma
from xyntra.passes.lower.cuda.matmul.mma.result import contiguous_lanes
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile
from xyntra.passes.lower.cuda.matmul.wgmma.conv_factors import GatheredImage
from xyntra.passes.lower.cuda.matmul.wgmma.conv_wgmma import plan_convolution
from xyntra.passes.lower.cuda.matmul.wgmma.plan import WgmmaPlan, plan_paired, plan_wgmma
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import Tile
from xyntra.passes.lower.cuda.precision import allows_tf32
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.contraction.product import convolution_of, product_of
from xyntra.passes.lower.gpu.contraction.row_partials import PARTIAL_COLUMNS
from xyntra.passes.lower.gpu.conv.pooling import pooling_of
from xyntra.passes.lower.gpu.device import Feature, GpuDevice

GATHERS_PIXELS = True
"""Whether warpgroups compute convolutions from images that TMA gathers."""
_START = 1.2  # microseconds of a kernel of warps, before it loads anything
_SINGLE_ELEMENTS = 3.5  # times the estimate for the rest of it, that warps took on an H100
_START_F32 = 2.9  # microseconds of a launch of threads
_SINGLE_F32 = 1.9  # times the estimate for the rest, where threads copy single elements
_WIDENED = 1.5  # times it for float8, a guess: on sm_90, ptxas converts each fragment to f16
_FOLLOWED = 1.12  # times the estimate for warps, by which the faster is chosen in most of ResNet-50


def plan_on_tensor_cores(group: ContractionGroup, device: GpuDevice) -> WgmmaPlan | MmaPlan | None:
    """Return how tensor cores compute a contraction; None where they do not."""
    plan = plan_on_warps(group, device)
    warpgroups = plan_on_warpgroups(group, device)
    if warpgroups is None or plan is None or group.slices or group.pairing:
        return warpgroups or plan
    if not group.roles.rows:
        return plan  # warpgroups have 64 rows
    return warpgroups if _is_faster(warpgroups, plan) else plan


def takes_rows(group: ContractionGroup, device: GpuDevice) -> bool:
    """Tell whether a launch of a contraction computes what belongs to its rows as well."""
    plan = plan_on_tensor_cores(group, device)
    return plan is not None and fits_rows(group, plan)


def fits_rows(group: ContractionGroup, plan: WgmmaPlan | MmaPlan) -> bool:
    """Tell whether a launch that runs as planned computes what belongs to its rows as well."""
    if group.windows or pooling_of(group) is not None:
        return False
    if isinstance(plan, WgmmaPlan) and not plan.with_rows(group.values, group.partials).fits:
        return False
    if isinstance(plan, WgmmaPlan) and plan.order.tile.split == 1:
        return not isinstance(plan.left, GatheredImage) and not plan.order.product.batch
    tile = plan.order.tile if isinstance(plan, WgmmaPlan) else plan.tile
    if isinstance(plan, MmaPlan) and not plan.has_room_for(group.values):
        return False
    lanes = contiguous_lanes(group.nest, group.roles, group.epilogue, group.values)
    return tile.columns % PARTIAL_COLUMNS == 0 and lanes > 1


def takes_slices(group: ContractionGroup, device: GpuDevice) -> bool:
    """Tell whether what follows a contraction may differ by columns, or take two at a time."""
    on_warps = plan_on_warps(group, device) if group.windows else None
    return on_warps is None and plan_on_warpgroups(group, device) is not None


def plan_on_warpgroups(group: ContractionGroup, device: GpuDevice) -> WgmmaPlan | None:
    """Return how warpgroups compute a contraction; None where they do not."""
    if not device.has(Feature.WGMMA):
        return None
    rows = plan_of_rows(group, device)
    if rows is not None and not rows.order.product.batch:
        return rows
    found = [plan for plan in (rows, plan_of_pixels(group, device)) if plan is not None]
    return min(found, key=lambda plan: plan.microseconds, default=None)


def _is_faster(warpgroups: WgmmaPlan, warps: MmaPlan) -> bool:
    # The estimate for warps leaves out what follows the contraction.
    rest = _FOLLOWED if isinstance(warpgroups.left, GatheredImage) else 1.0
    if warps.kind.is_float8:
        rest = _WIDENED
    return warpgroups.microseconds <= rest * time_on_warps(warps)


def time_on_warps(plan: MmaPlan) -> float:
    """Return about how many microseconds warps take, also where they load single elements."""
    slower = 1.0 if plan.left.is_copied and plan.right.is_copied else _SINGLE_ELEMENTS
    return _START + slower * (plan.microseconds - _START)


def time_on_tensor_cores(plan: WgmmaPlan | MmaPlan) -> float:
    """Return about how many microseconds a plan takes."""
    return plan.microseconds if isinstance(plan, WgmmaPlan) else time_on_warps(plan)


def time_on_cores(plan: FmaPlan) -> float:
    """Return about how many microseconds threads take, also where they copy single elements."""
    slower = _SINGLE_F32 if plan.copies_singles else 1.0
    return _START_F32 + slower * (plan.microseconds - _START_F32)


def plan_of_rows(
    group: ContractionGroup, device: GpuDevice, tile: Tile | None = None
) -> WgmmaPlan | None:
    """Return how warpgroups compute a product whose factors TMA copies by rows; None for others."""
    if group.windows or not group.roles.columns:
        return None
    tf32 = allows_tf32(group.operations[-1])
    kind = _kind_of_bytes(group)
    of_bytes = None if kind is None else (kind.left, kind.right)
    product = product_of(group.nest, group.roles, group.initial, tf32=tf32, of_bytes=of_bytes)
    if product is None:
        return None
    if group.pairing is not None:
        return plan_paired(product, device, group.pairing, tile)
    return plan_wgmma(product, device, group.epilogue, group.slices, tile)


def _kind_of_bytes(group: ContractionGroup) -> MmaKind | None:
    """Return the instruction for a product of integers or floats of 8 bits; None for others."""
    kind = mma_kind(group.nest, group.roles, tf32=False)
    return kind if kind is not None and (kind.is_integer or kind.is_float8) else None


def plan_of_pixels(
    group: ContractionGroup, device: GpuDevice, tile: Tile | None = None
) -> WgmmaPlan | None:
    """Return how warpgroups compute a convolution whose image TMA gathers; None for others."""
    if not GATHERS_PIXELS or group.slices or group.pairing:
        return None
    if group.windows and group.image != group.roles.left:
        return None
    tf32 = allows_tf32(group.operations[-1])
    product = convolution_of(group.nest, group.roles, group.initial, tf32=tf32)
    if product is None:
        return None
    return plan_convolution(product, device, group.epilogue, group.windows, tile)


def plan_on_warps(
    group: ContractionGroup, device: GpuDevice, tile: MmaTile | None = None
) -> MmaPlan | None:
    """Return how warps compute a contraction on tensor cores; None where they do not.

    Tiles that are not given are chosen.
    """
    if not device.has(Feature.MMA) or not group.roles.columns:
        return None
    windows = {} if group.image is None else {group.image: group.windows}
    tf32 = allows_tf32(group.operations[-1])
    return plan_mma(group.nest, group.roles, device, tf32=tf32, tile=tile, windows=windows)


def plan_on_cores(
    group: ContractionGroup, device: GpuDevice, tile: FmaTile | None = None
) -> FmaPlan | None:
    """Return how every thread computes its part of a contraction in f32; None for others."""
    if not group.roles.columns:
        return None
    windows = {} if group.image is None else {group.image: group.windows}
    return plan_fma(group.nest, group.roles, device, tile=tile, windows=windows)
