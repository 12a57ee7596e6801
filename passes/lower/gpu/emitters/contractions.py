# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of contractions on the cores of any GPU: in tiles, and over windows of images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.conv.choice import choose_windows
from xyntra.passes.lower.gpu.conv.pooling import emit_pooling, pooling_of
from xyntra.passes.lower.gpu.conv.sliding import sliding_windows
from xyntra.passes.lower.gpu.conv.window_tile import (
    WindowTile,
    tiled,
    window_tile_refusal,
    window_tiles,
)
from xyntra.passes.lower.gpu.conv.window_tiles import emit_window_tiles
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.emitter import (
    Code,
    Family,
    Impossible,
    StageEmitter,
    pair,
    unless,
)
from xyntra.passes.lower.gpu.matmul.simt import emit_simt, simt_shape, simt_shapes
from xyntra.passes.lower.gpu.matmul.tile_shape import TileShape
from xyntra.passes.lower.gpu.stages.stage import Stage


@dataclass(frozen=True)
class SimtChoices:
    """The choices of threads that share a contraction of any type.

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
    """The choices of threads that share reductions over windows.

    Attributes:
        vector: contiguous outputs of one thread.
    """

    vector: int = 1


@dataclass(frozen=True)
class WindowTileChoices:
    """The choices of threads that share reductions over windows, in tiles of the image.

    Attributes:
        own: rows and columns of outputs of one thread.
        threads: of a block above each other, side by side, and for the channels of a position.
        vector: channels of one thread; 1 where columns are contiguous in memory.
        planes: of which a block computes a tile each.
    """

    own: tuple[int, ...] = ()
    threads: tuple[int, ...] = ()
    vector: int = 1
    planes: int = 1


def read_contraction(stage: Stage) -> ContractionGroup | None:
    """Return the contraction of a stage; None for others."""
    return stage.contraction


def choose_on_cores(group: ContractionGroup, device: GpuDevice) -> Schedule:
    """Return the schedule by which threads compute a contraction on cores that every GPU has."""
    windows = told_windows(group, device)
    if windows is not None:
        return windows[0]
    shape = simt_shape(group.nest, group.roles, group.initial, device)
    return Schedule.told("simt", _of_simt(shape))


def told_windows(group: ContractionGroup, device: GpuDevice) -> tuple[Schedule, float] | None:
    """Return the best schedule of a reduction over windows with an estimate of its microseconds.

    None for anything else.
    """
    found = choose_windows(group, device)
    if found is None:
        return None
    if found.tile is None:
        return Schedule.told("windows", WindowChoices(found.vector)), found.microseconds
    return Schedule.told("window-tiles", _of_tile(found.tile)), found.microseconds


def _of_tile(tile: WindowTile) -> WindowTileChoices:
    return WindowTileChoices((tile.rows, tile.columns), tile.threads, tile.vector, tile.planes)


def _of_simt(shape: TileShape) -> SimtChoices:
    own = (shape.thread_rows, shape.thread_columns)
    return SimtChoices((shape.rows, shape.columns, shape.depth), own, shape.teams)


def _plan_simt(group: ContractionGroup, choices: SimtChoices, device: GpuDevice) -> Code:
    refuse_rows(group)
    if not group.roles.columns:
        raise Impossible("cannot compute products without columns")
    if group.outside is not None and constant_number(group.outside) != 0:
        raise Impossible("takes nothing but zeros for what is outside of an image")
    shapes = simt_shapes(group.nest, group.roles, group.initial, device)
    allowed = {_of_simt(shape): shape for shape in shapes}
    if choices not in allowed:
        raise Impossible("has no such tiles")
    shape = allowed[choices]
    windows = {} if group.image is None else {group.image: group.windows}
    computed = (group.nest, group.roles, group.initial, group.epilogue)
    return lambda shared: emit_simt(*computed, shared, shape, device, windows)


def _plan_windows(group: ContractionGroup, choices: WindowChoices, device: GpuDevice) -> Code:
    pooling = pooling_of(group)
    if pooling is None:
        raise Impossible("cannot compute what is no reduction over windows of an image")
    if choices.vector < 1 or pooling.lanes % choices.vector:
        raise Impossible(f"takes vectors whose length divides {pooling.lanes}")
    return lambda _: emit_pooling(pooling.with_lanes(choices.vector))


def _plan_window_tiles(
    group: ContractionGroup, choices: WindowTileChoices, device: GpuDevice
) -> Code:
    windows = sliding_windows(group)
    if windows is None:
        raise Impossible("cannot compute what is no reduction over windows of an image")
    if len(choices.threads) != 3:
        raise Impossible(f"needs three numbers as threads, got {list(choices.threads)}")
    down, across, side = choices.threads
    own = pair(choices.own, "own")
    tile = WindowTile(*own, choices.vector, (down, across, side), choices.planes)
    unless(window_tile_refusal(windows, tile, device))
    return lambda shared: emit_window_tiles(tiled(windows, tile), shared)


def refuse_rows(group: ContractionGroup) -> None:
    """Refuse contractions with slices of columns, or with what belongs to rows.

    Raises:
        Impossible: the contraction is one.
    """
    if group.slices or group.pairing or group.computes_rows:
        raise Impossible("computes nothing by columns or rows that belongs to the contraction")


def _simt_candidates(group: ContractionGroup, device: GpuDevice) -> Iterator[SimtChoices]:
    if not group.roles.columns:
        return
    yield from map(_of_simt, simt_shapes(group.nest, group.roles, group.initial, device))


def _window_candidates(group: ContractionGroup, device: GpuDevice) -> Iterator[WindowChoices]:
    pooling = pooling_of(group)
    lanes = 0 if pooling is None else pooling.lanes
    yield from (WindowChoices(each) for each in range(1, lanes + 1) if lanes % each == 0)


def _window_tile_candidates(
    group: ContractionGroup, device: GpuDevice
) -> Iterator[WindowTileChoices]:
    windows = sliding_windows(group)
    if windows is not None:
        yield from map(_of_tile, window_tiles(windows, device))


SIMT = StageEmitter("simt", SimtChoices, _plan_simt, _simt_candidates)
WINDOWS = StageEmitter("windows", WindowChoices, _plan_windows, _window_candidates)
WINDOW_TILES = StageEmitter(
    "window-tiles", WindowTileChoices, _plan_window_tiles, _window_tile_candidates
)
CONTRACTIONS = Family(read_contraction, choose_on_cores, (SIMT, WINDOWS, WINDOW_TILES))
