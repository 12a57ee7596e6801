# SPDX-License-Identifier: MIT OR Apache-2.0
"""Estimates how long a reduction over windows takes in tiles, and finds the best tiles."""

from __future__ import annotations

from math import gcd, prod

from xyntra.passes.lower.gpu.conv.sliding import SlidingWindows
from xyntra.passes.lower.gpu.conv.window_tile import (
    TiledWindows,
    WindowTile,
    tiled,
    touched,
    window_tiles,
)
from xyntra.passes.lower.gpu.device import GpuDevice

# What the estimate knows of one multiprocessor of an H100: from its rates, not fitted.
_CLOCK = 1700.0  # cycles in a microsecond
_ISSUE = 0.25  # cycles of an instruction of a warp
_VECTOR_BYTES = 16
_LINE = 128  # bytes that shared memory, or the first cache, gives in a cycle
_LATENCY = 1500  # cycles until what was asked for is there
_PLACES = 60  # instructions of a thread besides its sums
_BRING = 14  # instructions for a vector that is brought
_MEMORY, _CACHE = 3.0e6, 5.0e6  # bytes in a microsecond
_LAUNCH = 2.0  # microseconds
_TOGETHER = 0.2  # of the shorter of memory's and threads' time, that the longer one does not hide


def best_tile(windows: SlidingWindows, device: GpuDevice) -> tuple[WindowTile, float]:
    """Return the tile with the shortest estimate, and that, in microseconds."""
    times = {
        tile: microseconds(tiled(windows, tile), device) for tile in window_tiles(windows, device)
    }
    best = min(times, key=lambda tile: times[tile])
    return best, times[best]


def microseconds(found: TiledWindows, device: GpuDevice) -> float:
    """Estimate how long a reduction over windows takes in given tiles."""
    windows, tile = found.windows, found.tile
    nest = windows.nest
    loads, cycles, converted = _reads(found)
    of_weights, weight_cycles = _weights(found)
    sums = tile.rows * tile.columns * tile.vector * windows.taps * windows.inputs
    issued = (sums + loads + of_weights + converted) * _ISSUE
    own = max(issued, cycles + weight_cycles) + _PLACES * _ISSUE
    warps = -(-tile.block // 32)
    moved = found.piece * windows.item * 32 / _LINE
    bring = found.pieces / 32 * (2 * moved + _BRING * _ISSUE)
    block = windows.outer_taps * (warps * own + bring)
    waiting = windows.outer_taps * (_LATENCY + sums + 4 * loads)
    busy = -(-found.blocks // device.multiprocessors) * block
    brought = found.blocks * found.pieces * found.piece * windows.item * windows.outer_taps
    written = prod(loop.extent for loop in nest.loops if not loop.is_reduction) * windows.item
    memory = written / _MEMORY + max(_image_bytes(windows) / _MEMORY, brought / _CACHE)
    either = memory, busy / _CLOCK
    together = _TOGETHER * min(either) if windows.shared > 1 or windows.inputs > 1 else 0.0
    return _LAUNCH + max(either) + together + waiting / _CLOCK / 2


def _reads(found: TiledWindows) -> tuple[int, float, int]:
    """Return loads of the image by a thread, a warp's cycles for them, and conversions."""
    windows, tile = found.windows, found.tile
    across, down = windows.across, windows.down
    rows = len(touched(down, tile.rows)) if found.unrolls else tile.rows * down.taps
    columns = touched(across, tile.columns)
    if windows.slides_inside:
        columns = {(each + found.shift) // found.read for each in columns}
    loads = rows * len(columns) * max(1, found.own // found.read)
    width = found.read * windows.item * 32 / _LINE
    conflicts = min(across.step, 4) if windows.slides_inside else 1
    converted = loads * found.read if windows.item < 4 else 0
    return loads, loads * max(1.0, width) * conflicts, converted


def _weights(found: TiledWindows) -> tuple[int, float]:
    """Return the instructions of a thread for its weights, and a warp's cycles for their loads."""
    windows, tile = found.windows, found.tile
    if windows.weights is None or windows.shared == windows.inputs == 1:
        lines = max(1.0, tile.vector * windows.item * 32 / _LINE)
        return 2 * windows.taps * tile.vector, windows.taps * lines
    strides = windows.nest.inputs[windows.weights].strides
    singles = windows.inputs * tile.vector
    near = tile.vector if strides[windows.inner] == 1 else 1
    if windows.depth is not None and strides[windows.depth] == 1:
        near = windows.inputs
    near = gcd(near, _VECTOR_BYTES // windows.item)
    loads = windows.taps * (singles // near)
    lines = max(1.0, near * windows.item * 32 / _LINE)
    if windows.groups is not None and strides[windows.groups] > windows.shared:
        groups = min(32, tile.threads[2]) * tile.vector / windows.shared
        lines = max(lines, groups)  # the weights of each lie by themselves
    converted = windows.taps * singles if windows.item < 4 else 0
    return 3 * loads + converted, loads * lines


def _image_bytes(windows: SlidingWindows) -> int:
    moving = [loop for loop in windows.planes if windows.access.strides[loop]]
    planes = prod(windows.extent(loop) for loop in moving)
    outer = prod(axis.taps for axis in windows.outer if axis.row is None)
    positions = planes * outer * windows.across.size * windows.down.size
    return positions * windows.channels * windows.item
