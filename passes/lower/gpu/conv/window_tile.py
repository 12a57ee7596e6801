# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tiles reductions over sliding windows for the threads of a block."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from math import gcd, prod

from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis
from xyntra.passes.lower.gpu.conv.sliding import SlidingWindows
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.loops.memrefs import view_offset

_VECTOR_BYTES = 16
_LANE_BYTES = 4  # of the channels of one thread: a warp then reads one line
_MOST_THREADS = 256
_MOST_SUMS = 32  # of a thread
_MOST_REGISTERS = 128  # of a thread that sums over the channels of a group
_SIDES = (32, 8)  # threads for the channels of a position at most
_LEAST_ROOM = 16 << 10  # bytes of shared memory that every device has
UNROLLED = 1600
"""Multiply-adds of a thread up to which there is no loop over rows of taps."""


@dataclass(frozen=True)
class WindowTile:
    """The tile of a block, and how its threads share it.

    Attributes:
        rows: of outputs, of one thread.
        columns: likewise.
        vector: contiguous channels of the result of one thread; 1 where columns are contiguous
            in memory.
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
    def outputs(self) -> int:
        """Channels of the result that a block has; 1 where columns are contiguous in memory."""
        return self.threads[2] * self.vector


SMALLEST = WindowTile(1, 1, 1, (1, 1, 1), 1)
"""One output a block."""


@dataclass(frozen=True)
class TiledWindows:
    """A reduction over windows in tiles.

    Attributes:
        windows: the reduction.
        tile: the tiles.
        piece: contiguous elements of the image that are brought at once.
    """

    windows: SlidingWindows
    tile: WindowTile
    piece: int

    @property
    def runs_across(self) -> bool:
        """Tell whether pieces of the image are columns, rather than channels."""
        return self.windows.slides_inside or self.windows.is_turned

    @property
    def cell(self) -> int:
        """Channels of the image that a block needs; 1 where columns are contiguous in memory."""
        return max(1, self.tile.outputs // self.windows.shared) * self.windows.inputs

    @property
    def own(self) -> int:
        """Contiguous channels of the image that a thread needs."""
        return self.windows.inputs * (self.tile.vector if self.windows.shared == 1 else 1)

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
        """Contiguous elements that a thread takes from shared memory at once."""
        if not self.windows.slides_inside:
            return gcd(self.own, _VECTOR_BYTES // self.windows.item)
        return min(_VECTOR_BYTES // self.windows.item, self.tile.columns)

    @property
    def pitch(self) -> int:
        """Elements from one row of shared memory to the next."""
        if not self.windows.slides_inside:
            return self.staged_columns * self.cell
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
        cells = self.tile.planes * self.staged_rows * self.staged_columns * self.cell
        return cells // self.piece

    @property
    def unrolls(self) -> bool:
        """Tell whether rows of taps are no loop."""
        tile, windows = self.tile, self.windows
        sums = tile.rows * tile.columns * tile.vector
        return sums * windows.taps * windows.inputs <= UNROLLED

    @property
    def counts(self) -> tuple[int, int, int, int]:
        """Groups of planes, tiles above each other, side by side, and of channels."""
        windows, tile = self.windows, self.tile
        return (
            -(-windows.plane_count // tile.planes),
            -(-windows.down.outputs // tile.tile_rows),
            -(-windows.across.outputs // tile.tile_columns),
            -(-windows.outputs // tile.outputs),
        )

    @property
    def blocks(self) -> int:
        """Blocks of the launch."""
        return prod(self.counts)


def tiled(windows: SlidingWindows, tile: WindowTile) -> TiledWindows:
    """Return `windows` in tiles, with the longest pieces of the image that can be brought."""
    found = TiledWindows(windows, tile, _VECTOR_BYTES // windows.item)
    while found.piece > 1 and not _is_aligned(found):
        found = replace(found, piece=found.piece // 2)
    return found


def _is_aligned(found: TiledWindows) -> bool:
    """Tell whether pieces of the image lie in it and in tiles as a whole."""
    windows, tile, piece = found.windows, found.tile, found.piece
    access, across, down = windows.access, windows.across, windows.down
    strides = [access.strides[loop] for loop in windows.planes]
    strides += [axis.stride for axis in (down, *windows.outer)]
    places = [windows.base + view_offset(access.value), *strides]
    if windows.slides_inside or windows.is_turned:
        if across.stride != 1:
            return False
        places += [across.size, tile.tile_columns * across.step]
        if windows.is_turned:
            places.append(windows.channel_stride)
    else:
        places += [across.stride, windows.channels, found.cell]
    return not any(place % piece for place in places)


def window_tile_refusal(windows: SlidingWindows, tile: WindowTile, device: GpuDevice) -> str | None:
    """Return what is wrong with a tile; None for nothing."""
    numbers = [tile.rows, tile.columns, tile.vector, tile.planes, *tile.threads]
    if min(numbers) < 1:
        return "needs positive numbers"
    if windows.slides_inside:
        if tile.vector != 1 or tile.threads[2] != 1:
            return "has no vectors of channels where columns are contiguous in memory"
        if tile.columns & (tile.columns - 1):
            return f"has powers of two as columns of a thread here, not {tile.columns}"
    elif windows.lanes % tile.vector:
        return f"takes vectors whose length divides {windows.lanes}"
    elif windows.shared % tile.outputs and tile.outputs % windows.shared:
        return f"has whole groups of {windows.shared} channels a block, or equal parts of one"
    if tile.block > device.block_threads:
        return f"has blocks of up to {device.block_threads} threads, not {tile.block}"
    room = tiled(windows, tile).elements * windows.item
    if room > device.static_bytes:
        return f"has no room for {room} bytes of the image"
    return None


def window_tiles(windows: SlidingWindows, device: GpuDevice) -> Iterator[WindowTile]:
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
    for columns, rows, vector in product((1, 2, 4, 8), heights, _vectors(windows)):
        if columns < 2 * across and _has_registers(windows, rows, columns, vector):
            yield rows, columns, vector


def _vectors(windows: SlidingWindows) -> list[int]:
    """Return how many contiguous channels of the result a thread may have."""
    if windows.shared > 1:
        return list(dict.fromkeys((windows.lanes, max(1, windows.lanes // 2))))
    return [min(max(1, _LANE_BYTES // windows.item), windows.lanes)]


def _has_registers(windows: SlidingWindows, rows: int, columns: int, vector: int) -> bool:
    """Tell whether a thread has registers for so many sums, and for what it multiplies."""
    sums, across = rows * columns * vector, windows.across.taps
    if windows.shared == windows.inputs == 1:
        return sums <= _MOST_SUMS
    run = min(windows.inputs, _VECTOR_BYTES // windows.item)
    kept = rows * across * windows.inputs if rows > 1 else run  # weights of rows, or at once
    registers = sums + kept * vector + run * len(touched(windows.across, columns))
    is_short = sums * across * windows.inputs <= 2 * UNROLLED
    return is_short and sums <= _MOST_SUMS and registers <= _MOST_REGISTERS


def _thread_tiles(
    windows: SlidingWindows, rows: int, columns: int, vector: int
) -> Iterator[tuple[int, int, int]]:
    """Yield how many threads of a block are above each other, side by side, and for channels."""
    for side in _sides(windows, vector):
        for across in _shares(-(-windows.across.outputs // columns), _MOST_THREADS // side):
            most = _MOST_THREADS // (side * across)
            for down in _shares(-(-windows.down.outputs // rows), most):
                yield down, across, side


def _sides(windows: SlidingWindows, vector: int) -> list[int]:
    """Return how many threads there may be for the channels of a position."""
    if windows.slides_inside:
        return [1]
    parts = max(1, windows.shared // vector)  # threads for the outputs of a group
    units = -(-windows.outputs // (vector * parts))
    found = []
    for most in _SIDES:
        if parts > most:
            found.append(next(each for each in range(most, 0, -1) if parts % each == 0))
        else:
            found.append(parts * -(-units // -(-units // (most // parts))))
    return list(dict.fromkeys(found))


def _shares(units: int, most: int) -> list[int]:
    """Return into how large equal shares so many units are cut, each of at most `most`."""
    fewest = -(-units // max(most, 1))
    shares = [fewest, fewest + 1, 2 * fewest, 4 * fewest, 8 * fewest, 16 * fewest]
    found = dict.fromkeys(-(-units // count) for count in shares)
    return [each for each in found if each <= max(most, 1)]


def touched(axis: ImageAxis, outputs: int) -> set[int]:
    """Return the positions that so many outputs read, counted from the first one."""
    places = range(outputs), range(axis.taps)
    return {i * axis.step + j * axis.spread for i in places[0] for j in places[1]}


def _reach(axis: ImageAxis, outputs: int) -> int:
    """Return how many positions lie from the first to the last that so many outputs read."""
    return (outputs - 1) * axis.step + (axis.taps - 1) * axis.spread + 1


def rounded_up(number: int, unit: int) -> int:
    """Return the least multiple of `unit` that is not less than a number."""
    return -(-number // unit) * unit
