# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of contractions: on tensor cores, on plain cores, and over windows of an image."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.cuda.contraction.fma import emit_fma
from xyntra.passes.lower.cuda.contraction.fma_tiles import FmaTile, fma_choices, fma_refusal
from xyntra.passes.lower.cuda.contraction.group import ContractionGroup
from xyntra.passes.lower.cuda.contraction.select import plan_on_cores, plan_on_tensor_cores
from xyntra.passes.lower.cuda.emitters.emitter import Code, Emitter, Family, Impossible, pair
from xyntra.passes.lower.cuda.emitters.tensor_cores import (
    GATHER,
    MMA,
    WGMMA,
    told_tensor_cores,
)
from xyntra.passes.lower.cuda.stages.stage import Stage
from xyntra.passes.lower.gpu.conv.pooling import emit_pooling, pooling_of
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.matmul.simt import emit_simt, simt_shape, simt_shapes
from xyntra.passes.lower.gpu.matmul.tile_shape import TileShape


@dataclass(frozen=True)
class FmaChoices:
    """How threads share a product in f32.

    Attributes:
        tile: rows and columns of a block.
        thread_tile: rows and columns of a thread.
        lane_rows: threads of a warp above each other.
        stages: parts of the factors in shared memory at once.
        split_k: blocks that share the reduction of a tile, one cluster.
    """

    tile: tuple[int, ...] = ()
    thread_tile: tuple[int, ...] = ()
    lane_rows: int = 4
    stages: int = 3
    split_k: int = 1


@dataclass(frozen=True)
class SimtChoices:
    """How threads share a contraction of any type.

    Attributes:
        tile: rows, columns and steps of the reduction in shared memory.
        thread_tile: rows and columns of a thread.
        teams: of threads that each compute the tile for a part of the reduction.
    """

    tile: tuple[int, ...] = ()
    thread_tile: tuple[int, ...] = ()
    teams: int = 1


@dataclass(frozen=True)
class WindowChoices:
    """How threads share reductions over windows.

    Attributes:
        vector: neighbouring outputs of one thread.
    """

    vector: int = 1


def _read(stage: Stage) -> ContractionGroup | None:
    return stage.contraction


def _choose(group: ContractionGroup, device: Device) -> Schedule:
    pooling = pooling_of(group)
    if pooling is not None:
        return Schedule.told("windows", WindowChoices(pooling.lanes))
    plan = plan_on_tensor_cores(group, device)
    if plan is not None:
        return told_tensor_cores(plan, group, device)
    cores = plan_on_cores(group, device)
    if cores is not None:
        return Schedule.told("fma", _of_fma(cores.tile))
    shape = simt_shape(group.nest, group.roles, group.initial, device)
    return Schedule.told("simt", _of_simt(shape))


def _of_fma(tile: FmaTile) -> FmaChoices:
    own = (tile.own_rows, tile.own_columns)
    return FmaChoices((tile.rows, tile.columns), own, tile.lane_rows, tile.stages, tile.split)


def _of_simt(shape: TileShape) -> SimtChoices:
    own = (shape.thread_rows, shape.thread_columns)
    return SimtChoices((shape.rows, shape.columns, shape.depth), own, shape.teams)


def _plan_fma(group: ContractionGroup, choices: FmaChoices, device: Device) -> Code:
    _refuse_rows(group)
    whole = plan_on_cores(group, device)
    if whole is None:
        raise Impossible("cannot compute this contraction")
    sides, own = pair(choices.tile, "tile"), pair(choices.thread_tile, "thread_tile")
    tile = FmaTile(*sides, choices.lane_rows, *own, choices.stages, choices.split_k)
    refusal = fma_refusal(tile, device, whole.parts)
    if refusal is not None:
        raise Impossible(refusal)
    plan = plan_on_cores(group, device, tile)
    if plan is None:
        raise Impossible("cannot compute this contraction in such tiles")
    return lambda shared: emit_fma(plan, group.initial, group.epilogue, shared)


def _plan_simt(group: ContractionGroup, choices: SimtChoices, device: Device) -> Code:
    _refuse_rows(group)
    if group.windows or group.image is not None:
        raise Impossible("cannot read around the padding of an image")
    shapes = simt_shapes(group.nest, group.roles, group.initial, device)
    allowed = {_of_simt(shape): shape for shape in shapes}
    if choices not in allowed:
        raise Impossible("has no such tiles")
    shape = allowed[choices]
    return lambda shared: emit_simt(
        group.nest, group.roles, group.initial, group.epilogue, shared, shape
    )


def _plan_windows(group: ContractionGroup, choices: WindowChoices, device: Device) -> Code:
    pooling = pooling_of(group)
    if pooling is None:
        raise Impossible("cannot compute what is no reduction over windows of an image")
    if choices.vector < 1 or pooling.lanes % choices.vector:
        raise Impossible(f"takes vectors whose length divides {pooling.lanes}")
    return lambda _: emit_pooling(pooling.with_lanes(choices.vector))


def _refuse_rows(group: ContractionGroup) -> None:
    if group.slices or group.values is not None or group.partials is not None:
        raise Impossible("computes nothing by columns or rows that belongs to the contraction")


def _fma_candidates(group: ContractionGroup, device: Device) -> Iterator[FmaChoices]:
    whole = plan_on_cores(group, device)
    if whole is not None:
        yield from map(_of_fma, fma_choices(device, whole.parts))


def _simt_candidates(group: ContractionGroup, device: Device) -> Iterator[SimtChoices]:
    yield from map(_of_simt, simt_shapes(group.nest, group.roles, group.initial, device))


def _window_candidates(group: ContractionGroup, device: Device) -> Iterator[WindowChoices]:
    pooling = pooling_of(group)
    lanes = 0 if pooling is None else pooling.lanes
    yield from (WindowChoices(each) for each in range(1, lanes + 1) if lanes % each == 0)


CONTRACTIONS = Family(
    _read,
    _choose,
    (
        WGMMA,
        GATHER,
        MMA,
        Emitter("fma", FmaChoices, _plan_fma, _fma_candidates),
        Emitter("simt", SimtChoices, _plan_simt, _simt_candidates),
        Emitter("windows", WindowChoices, _plan_windows, _window_candidates),
    ),
)
