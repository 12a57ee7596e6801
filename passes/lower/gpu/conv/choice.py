# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decides which emitter computes a reduction over windows of an image, and in which tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.gpu.conv.pooling import Pooling, pooling_of
from xyntra.passes.lower.gpu.conv.sliding import sliding_windows
from xyntra.passes.lower.gpu.conv.window_group import WindowGroup
from xyntra.passes.lower.gpu.conv.window_tile import WindowTile, has_room
from xyntra.passes.lower.gpu.conv.window_time import best_tile
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.vectors import item_bytes

# What the estimate knows of threads that read windows from the cache, from an H100's rates.
_CLOCK, _ISSUE, _LINE = 1700.0, 0.25, 128
_TAP = 8  # instructions for a tap besides multiply-adds
_PLACES = 60  # for a thread
_MEMORY = 3.0e6  # bytes in a microsecond
_LAUNCH = 2.0  # microseconds
_SURE = 0.8  # of the time of a pooling from the cache, in which tiles surely take less


@dataclass(frozen=True)
class WindowChoice:
    """The choice of a kernel for a reduction over windows.

    Attributes:
        tile: of an image in shared memory; None where threads read windows from memory.
        vector: contiguous outputs of one thread, in the latter case.
        microseconds: an estimate of how long it takes.
    """

    tile: WindowTile | None
    vector: int
    microseconds: float


def choose_windows(group: WindowGroup, device: GpuDevice) -> WindowChoice | None:
    """Return how to compute `group`; None where it is no reduction over windows."""
    pooling, windows = pooling_of(group), sliding_windows(group)
    if windows is not None and not has_room(windows):
        windows = None
    plain = None
    if pooling is not None:
        plain = WindowChoice(None, pooling.lanes, _microseconds(pooling, device))
    if windows is None:
        return plain
    sure = 1.0
    if plain is not None and windows.weights is None:
        if plain.vector > 1:
            return plain  # so few instructions for each byte that memory is what takes time
        sure = _SURE
    tile, time = best_tile(windows, device)
    if plain is not None and sure * plain.microseconds <= time:
        return plain
    return WindowChoice(tile, 1, time)


def is_windowed(group: WindowGroup) -> bool:
    """Tell whether `choose_windows` finds a way."""
    if pooling_of(group) is not None:
        return True
    windows = sliding_windows(group)
    return windows is not None and has_room(windows)


def _microseconds(pooling: Pooling, device: GpuDevice) -> float:
    """Estimate how long it takes where threads read their windows from memory, or the cache."""
    nest, lanes = pooling.nest, pooling.lanes
    image = nest.inputs[pooling.image]
    taps = prod(nest.loops[number].extent for number in nest.reductions)
    outputs = prod(nest.loops[number].extent for number in pooling.order)
    line = max(1.0, lanes * item_bytes(image) * 32 / _LINE)
    others = [each for number, each in enumerate(nest.inputs) if number != pooling.image]
    weights = sum(line if each.strides[pooling.order[-1]] else 1.0 for each in others)
    issued = (taps * (lanes + _TAP) + _PLACES) * _ISSUE
    warps = -(-outputs // (lanes * 32 * device.multiprocessors))
    busy = warps * max(issued, taps * (line + weights))
    return _LAUNCH + max(busy / _CLOCK, 2 * outputs * item_bytes(image) / _MEMORY)
