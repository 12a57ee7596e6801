# SPDX-License-Identifier: MIT OR Apache-2.0
"""The family of contractions for NVIDIA GPUs: on tensor cores, and on plain ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.cuda.emitters.tensor_cores import (
    GATHER,
    MMA,
    WGMMA,
    told_tensor_cores,
)
from xyntra.passes.lower.cuda.matmul.fma.fma import emit_fma
from xyntra.passes.lower.cuda.matmul.fma.tiles import FmaTile, fma_choices, fma_refusal
from xyntra.passes.lower.cuda.matmul.select import (
    plan_on_cores,
    plan_on_tensor_cores,
    time_on_tensor_cores,
)
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup
from xyntra.passes.lower.gpu.conv.pooling import pooling_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emitters.contractions import (
    SIMT,
    WINDOW_TILES,
    WINDOWS,
    choose_on_cores,
    read_contraction,
    refuse_rows,
    told_windows,
)
from xyntra.passes.lower.gpu.emitters.emitter import (
    Code,
    Family,
    Impossible,
    StageEmitter,
    pair,
    unless,
)

_SURE = 0.8  # of another emitter's time, by estimates of which one was not fitted to measurements


@dataclass(frozen=True)
class FmaChoices:
    """The choices of threads that share a matmul in f32.

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


def _choose(group: ContractionGroup, device: GpuDevice) -> Schedule:
    windows = told_windows(group, device)
    if windows is not None and pooling_of(group) is not None:
        return windows[0]
    plan = plan_on_tensor_cores(group, device)
    if plan is not None and not _is_faster(windows, lambda: time_on_tensor_cores(plan)):
        return told_tensor_cores(plan, group, device)
    cores = plan_on_cores(group, device) if plan is None else None
    if cores is not None and not _is_faster(windows, lambda: cores.microseconds):
        return Schedule.told("fma", _of_fma(cores.tile))
    return choose_on_cores(group, device) if windows is None else windows[0]


def _is_faster(windows: tuple[Schedule, float] | None, other: Callable[[], float]) -> bool:
    """Tell whether windows surely take less time than another way, whose estimate is asked for."""
    return windows is not None and windows[1] < _SURE * other()


def _of_fma(tile: FmaTile) -> FmaChoices:
    own = (tile.own_rows, tile.own_columns)
    return FmaChoices((tile.rows, tile.columns), own, tile.lane_rows, tile.stages, tile.split)


def _plan_fma(group: ContractionGroup, choices: FmaChoices, device: GpuDevice) -> Code:
    refuse_rows(group)
    whole = plan_on_cores(group, device)
    if whole is None:
        raise Impossible("cannot compute this contraction")
    sides, own = pair(choices.tile, "tile"), pair(choices.thread_tile, "thread_tile")
    tile = FmaTile(*sides, choices.lane_rows, *own, choices.stages, choices.split_k)
    unless(fma_refusal(tile, device, whole.parts))
    plan = plan_on_cores(group, device, tile)
    if plan is None:
        raise Impossible("cannot compute this contraction in such tiles")
    return lambda shared: emit_fma(plan, group.initial, group.epilogue, shared)


def _fma_candidates(group: ContractionGroup, device: GpuDevice) -> Iterator[FmaChoices]:
    whole = plan_on_cores(group, device)
    if whole is not None:
        yield from map(_of_fma, fma_choices(device, whole.parts))


CONTRACTIONS = Family(
    read_contraction,
    _choose,
    (
        WGMMA,
        GATHER,
        MMA,
        StageEmitter("fma", FmaChoices, _plan_fma, _fma_candidates),
        SIMT,
        WINDOWS,
        WINDOW_TILES,
    ),
)
