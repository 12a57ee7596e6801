# SPDX-License-Identifier: MIT OR Apache-2.0
"""How a reduction over windows is cut into tiles of threads, and about how long that takes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis
from xyntra.passes.lower.gpu.conv.sliding import SlidingWindows
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.nests.memrefs import view_offset

_VECTOR_BYTES = 16
_LANE_BYTES = 4  # of the channels of one thread: a warp then reads one line
_MOST_THREADS = 256
_MOST_SUMS = 32  # of a thread
_SIDES = (32, 8)  # threads for the channels of a position at most
_LEAST_ROOM = 16 << 10  # bytes of shared memory that every device has
UNROLLED = 1600
"""Multiply-adds of a thread up to which there is no loop over rows of taps."""

# What the estimate knows of one multiprocessor of an H100: from its rates, not fitted.
_CLOCK = 1700.0  # cycles in a microsecond
_ISSUE = 0.25  # cycles of an instruction of a warp
_LINE = 128  # bytes that shared memory, or the first cache, gives in a cycle
_LATENCY = 1500  # cycles until what was asked for is there
_PLACES = 60  # instructions of a thread besides its sums
_BRING = 14  # instructions for a vector that is brought
_MEMORY, _CACHE = 3.0e6, 5.0e6  # bytes in a microsecond
_LAUNCH = 2.0  # microseconds


@dataclass(frozen=True)
class WindowTile:
    """What one block computes, and how its threads share it.

    Attributes:
        rows: of outputs, of one thread.
        columns: likewise.
        vector: neighbouring channels of one thread; 1 where columns are neighbours in memory.
        threads: above each other, side by side, and for the channels of a position.
        planes: of which a block computes a tile each.
    """

    rows: int
    columns: int
    vector: int
    threads: tuple[int, int, int]
    planes: int

    @property
    def block(self) -> int:
        """Threads of a block that compute something."""
        return self.planes * prod(self.threads)

    @property
    def tile_rows(self) -> int:
        """Rows of outputs of a block."""
        return self.threads[0] * self.rows

    @property
    def tile_columns(self) -> int:
        """Columns of outputs of a block."""
        return self.threads[1] * self.columns

    @property
    def channels(self) -> int:
        """Channels of a block; 1 where columns are neighbours in memory."""
        return self.threads[2] * self.vector


SMALLEST = WindowTile(1, 1, 1, (1, 1, 1), 1)
"""One output a block."""


@dataclass(frozen=True)
class TiledWindows:
    """A reduction over windows in tiles.

    Attributes:
        windows: the reduction.
        tile: the tiles.
        piece: neighbours in the image that are brought at once.
    """

    windows: SlidingWindows
    tile: WindowTile
    piece: int

    @property
    def runs_across(self) -> bool:
        """Whether pieces of the image are columns, rather than channels."""
        return self.windows.slides_inside or self.windows.is_turned

    @property
    def shift(self) -> int:
        """Columns in front of the first one that is needed, so that pieces are aligned."""
        return self.windows.across.first % self.piece if self.runs_across else 0

    @property
    def staged_rows(self) -> int:
        """Rows of the image that a tile needs."""
        return _reach(self.windows.down, self.tile.tile_rows)

    @property
    def staged_columns(self) -> int:
        """Columns of the image that are brought for a tile."""
        needed = self.shift + _reach(self.windows.across, self.tile.tile_columns)
        return rounded_up(needed, self.piece) if self.runs_across else needed

    @property
    def read(self) -> int:
        """Neighbours that a thread takes from shared memory at once."""
        if not self.windows.slides_inside:
            return self.tile.vector
        return min(_VECTOR_BYTES // self.windows.item, self.tile.columns)

    @property
    def pitch(self) -> int:
        """Elements from one row of shared memory to the next."""
        if not self.windows.slides_inside:
            return self.staged_columns * self.tile.channels
        across, tile = self.windows.across, self.tile
        first = (tile.threads[1] - 1) * tile.columns * across.step
        last = first + rounded_up(self.shift + _reach(across, tile.columns), self.read)
        return rounded_up(max(self.staged_columns, last), max(self.read, self.piece))

    @property
    def elements(self) -> int:
        """Elements of shared memory."""
        return self.tile.planes * self.staged_rows * self.pitch

    @property
    def pieces(self) -> int:
        """Pieces that are brought for a tile."""
        cells = self.tile.planes * self.staged_rows * self.staged_columns * self.tile.channels
        return cells // self.piece

    @property
    def unrolls(self) -> bool:
        """Whether rows of taps are no loop."""
        tile, windows = self.tile, self.windows
        return tile.rows * tile.columns * tile.vector * windows.taps <= UNROLLED

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Groups of planes, tiles above each other, side by side, and of channels."""
        windows, tile = self.windows, self.tile
        channels = 1 if windows.slides_inside else windows.extent(windows.inner)
        return (
            -(-windows.plane_count // tile.planes),
            -(-windows.down.outputs // tile.tile_rows),
            -(-windows.across.outputs // tile.tile_columns),
            -(-channels // tile.channels),
        )

    @property
    def blocks(self) -> int:
        """Blocks of the launch."""
        return prod(self.counts)


def tiled(windows: SlidingWindows, tile: WindowTile) -> TiledWindows:
    """Return `windows` in tiles, with the longest pieces of the image that can be brought."""
    piece = _VECTOR_BYTES // windows.item
    while piece > 1 and not _is_aligned(windows, tile, piece):
        piece //= 2
    return TiledWindows(windows, tile, piece)


def _is_aligned(windows: SlidingWindows, tile: WindowTile, piece: int) -> bool:
    """Tell whether pieces of the image lie in it and in tiles as a whole."""
    access, across, down = windows.access, windows.across, windows.down
    strides = [access.strides[loop] for loop in windows.planes]
    strides += [axis.stride for axis in (down, *windows.outer)]
    places = [windows.base + view_offset(access.value), *strides]
    if windows.slides_inside or windows.is_turned:
        if across.stride != 1:
            return False
        places += [across.size, tile.tile_columns * across.step]
        if windows.is_turned:
            places.append(access.strides[windows.inner])
    else:
        places += [across.stride, windows.extent(windows.inner), tile.channels]
    return not any(place % piece for place in places)


def window_tile_refusal(windows: SlidingWindows, tile: WindowTile, device: Device) -> str | None:
    """Return what is wrong with a tile; None for nothing."""
    numbers = [tile.rows, tile.columns, tile.vector, tile.planes, *tile.threads]
    if min(numbers) < 1:
        return "needs positive numbers"
    if windows.slides_inside:
        if tile.vector != 1 or tile.threads[2] != 1:
            return "has no vectors of channels where columns are neighbours in memory"
        if tile.columns & (tile.columns - 1):
            return f"has powers of two as columns of a thread here, not {tile.columns}"
    elif windows.lanes % tile.vector:
        return f"takes vectors whose length divides {windows.lanes}"
    if tile.block > device.block_threads:
        return f"has blocks of up to {device.block_threads} threads, not {tile.block}"
    room = tiled(windows, tile).elements * windows.item
    if room > device.static_bytes:
        return f"has no room for {room} bytes of the image"
    return None


def window_tiles(windows: SlidingWindows, device: Device) -> Iterator[WindowTile]:
    """Yield the tiles that are worth a try; the smallest one where no other has room."""
    found = False
    for tile in _tiles(windows):
        if window_tile_refusal(windows, tile, device) is None:
            found = True
            yield tile
    if not found:
        yield SMALLEST


def has_room(windows: SlidingWindows) -> bool:
    """Tell whether every device has shared memory for the smallest tile."""
    return tiled(windows, SMALLEST).elements * windows.item <= _LEAST_ROOM


def _tiles(windows: SlidingWindows) -> Iterator[WindowTile]:
    for rows, columns, vector in _own_tiles(windows):
        for threads in _thread_tiles(windows, rows, columns, vector):
            used = prod(threads)
            most = min(windows.plane_count, max(1, _MOST_THREADS // used))
            for planes in dict.fromkeys((1, -(-most // 2), most)):
                yield WindowTile(rows, columns, vector, threads, planes)


def _own_tiles(windows: SlidingWindows) -> Iterator[tuple[int, int, int]]:
    """Yield rows, columns and channels of a thread."""
    down, across = windows.down.outputs, windows.across.outputs
    heights = [rows for rows in (1, 2, 4) if rows <= down]
    if windows.slides_inside:
        for columns in (8, 4, 2):
            if columns < 2 * across:
                yield from ((rows, columns, 1) for rows in heights)
        return
    vector = min(max(1, _LANE_BYTES // windows.item), windows.lanes)
    for columns in (1, 2, 4, 8):
        if columns < 2 * across:
            for rows in heights:
                if rows * columns * vector <= _MOST_SUMS:
                    yield rows, columns, vector


def _thread_tiles(
    windows: SlidingWindows, rows: int, columns: int, vector: int
) -> Iterator[tuple[int, int, int]]:
    """Yield how many threads of a block are above each other, side by side, and for channels."""
    sides = [1]
    if not windows.slides_inside:
        units = -(-windows.extent(windows.inner) // vector)
        sides = list(dict.fromkeys(-(-units // -(-units // most)) for most in _SIDES))
    for side in sides:
        for across in _shares(-(-windows.across.outputs // columns), _MOST_THREADS // side):
            most = _MOST_THREADS // (side * across)
            for down in _shares(-(-windows.down.outputs // rows), most):
                yield down, across, side


def _shares(units: int, most: int) -> list[int]:
    """Return into how large equal shares so many units are cut, each of at most `most`."""
    fewest = -(-units // max(most, 1))
    shares = [fewest, fewest + 1, 2 * fewest, 4 * fewest, 8 * fewest, 16 * fewest]
    found = dict.fromkeys(-(-units // count) for count in shares)
    return [each for each in found if each <= max(most, 1)]


def best_tile(windows: SlidingWindows, device: Device) -> tuple[WindowTile, float]:
    """Return the tile with the shortest estimate, and that, in microseconds."""
    times = {
        tile: microseconds(tiled(windows, tile), device) for tile in window_tiles(windows, device)
    }
    best = min(times, key=lambda tile: times[tile])
    return best, times[best]


def microseconds(found: TiledWindows, device: Device) -> float:
    """Estimate how long a reduction over windows takes in given tiles."""
    windows, tile = found.windows, found.tile
    nest = windows.nest
    lines, converted, sums = _work(found)
    issued = (sums + lines[0] + 2 * windows.taps * tile.vector + converted) * _ISSUE
    own = max(issued, lines[1]) + _PLACES * _ISSUE
    warps = -(-tile.block // 32)
    moved = found.piece * windows.item * 32 / _LINE
    bring = found.pieces / 32 * (2 * moved + _BRING * _ISSUE)
    block = windows.outer_taps * (warps * own + bring)
    waiting = windows.outer_taps * (_LATENCY + sums + 4 * lines[0])
    busy = -(-found.blocks // device.multiprocessors) * block
    brought = found.blocks * found.pieces * found.piece * windows.item * windows.outer_taps
    written = prod(loop.extent for loop in nest.loops if not loop.is_reduction) * windows.item
    memory = written / _MEMORY + max(_image_bytes(windows) / _MEMORY, brought / _CACHE)
    return _LAUNCH + max(memory, busy / _CLOCK) + waiting / _CLOCK / 2


def _work(found: TiledWindows) -> tuple[tuple[int, float], int, int]:
    """Return loads of a thread, cycles of a warp's loads, conversions, and multiply-adds."""
    windows, tile = found.windows, found.tile
    across, down = windows.across, windows.down
    rows = len(_touched(down, tile.rows)) if found.unrolls else tile.rows * down.taps
    columns = _touched(across, tile.columns)
    if windows.slides_inside:
        columns = {(each + found.shift) // found.read for each in columns}
    loads = rows * len(columns)
    width = found.read * windows.item * 32 / _LINE
    conflicts = min(across.step, 4) if windows.slides_inside else 1
    weights = windows.taps * max(1.0, tile.vector * windows.item * 32 / _LINE)
    converted = loads * found.read if windows.item < 4 else 0
    sums = tile.rows * tile.columns * tile.vector * windows.taps
    return (loads, loads * max(1.0, width) * conflicts + weights), converted, sums


def _touched(axis: ImageAxis, outputs: int) -> set[int]:
    """Return the positions that so many outputs read, counted from the first one."""
    places = range(outputs), range(axis.taps)
    return {i * axis.step + j * axis.spread for i in places[0] for j in places[1]}


def _reach(axis: ImageAxis, outputs: int) -> int:
    """Return how many positions lie from the first to the last that so many outputs read."""
    return (outputs - 1) * axis.step + (axis.taps - 1) * axis.spread + 1


def _image_bytes(windows: SlidingWindows) -> int:
    moving = [loop for loop in windows.planes if windows.access.strides[loop]]
    planes = prod(windows.extent(loop) for loop in moving)
    inner = 1 if windows.slides_inside else windows.extent(windows.inner)
    outer = prod(axis.taps for axis in windows.outer if axis.row is None)
    return planes * inner * outer * windows.across.size * windows.down.size * windows.item


def rounded_up(number: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not less than a number."""
    return -(-number // unit) * unit
