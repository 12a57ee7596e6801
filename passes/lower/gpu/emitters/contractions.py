# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of contractions on the cores of any GPU: in tiles, and over windows of images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.conv.pooling import emit_pooling, pooling_of
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.gpu.emitters.emitter import Code, Emitter, Family, Impossible
from xyntra.passes.lower.gpu.matmul.simt import emit_simt, simt_shape, simt_shapes
from xyntra.passes.lower.gpu.matmul.tile_shape import TileShape
from xyntra.passes.lower.gpu.stages.stage import Stage


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


def read_contraction(stage: Stage) -> ContractionGroup | None:
    """Return the contraction of a stage; None for others."""
    return stage.contraction


def choose_on_cores(group: ContractionGroup, device: Device) -> Schedule:
    """Return the schedule by which threads compute a contraction on cores that every GPU has."""
    pooling = pooling_of(group)
    if pooling is not None:
        return Schedule.told("windows", WindowChoices(pooling.lanes))
    shape = simt_shape(group.nest, group.roles, group.initial, device)
    return Schedule.told("simt", _of_simt(shape))


def _of_simt(shape: TileShape) -> SimtChoices:
    own = (shape.thread_rows, shape.thread_columns)
    return SimtChoices((shape.rows, shape.columns, shape.depth), own, shape.teams)


def _plan_simt(group: ContractionGroup, choices: SimtChoices, device: Device) -> Code:
    refuse_rows(group)
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


def refuse_rows(group: ContractionGroup) -> None:
    """Refuse contractions with slices of columns, or with what belongs to rows.

    Raises:
        Impossible: the contraction is one.
    """
    if group.slices or group.computes_rows:
        raise Impossible("computes nothing by columns or rows that belongs to the contraction")


def _simt_candidates(group: ContractionGroup, device: Device) -> Iterator[SimtChoices]:
    yield from map(_of_simt, simt_shapes(group.nest, group.roles, group.initial, device))


def _window_candidates(group: ContractionGroup, device: Device) -> Iterator[WindowChoices]:
    pooling = pooling_of(group)
    lanes = 0 if pooling is None else pooling.lanes
    yield from (WindowChoices(each) for each in range(1, lanes + 1) if lanes % each == 0)


SIMT = Emitter("simt", SimtChoices, _plan_simt, _simt_candidates)
WINDOWS = Emitter("windows", WindowChoices, _plan_windows, _window_candidates)
CONTRACTIONS = Family(read_contraction, choose_on_cores, (SIMT, WINDOWS))
