# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the output tile of a block and of a thread, for kernels on plain FMAs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from fractions import Fraction

from xyntra.passes.lower.gpu.device import GpuDevice

# Blocks of each multiprocessor: 120 and 200 of an H100.
_ENOUGH_BLOCKS, _MANY_BLOCKS = Fraction(10, 11), Fraction(50, 33)
_FEW_BLOCKS, _SOME_BLOCKS = Fraction(1, 2), Fraction(3, 4)  # likewise
_ROOM = 512  # threads with which a multiprocessor hides the latency of shared memory
_MIN_STEPS = 48  # of a team
VECTOR = 4
"""Contiguous elements that a thread takes at once from shared memory."""


@dataclass(frozen=True)
class TileShape:
    """A tile of `rows` by `columns`, of which a thread computes a part.

    Attributes:
        rows: of the tile.
        columns: of the tile.
        depth: steps of the reduction that are in shared memory at once.
        thread_rows: rows of one thread, a multiple of four.
        thread_columns: columns of one thread, likewise.
        teams: of threads that each compute the tile for a part of the reduction.
    """

    rows: int
    columns: int
    depth: int
    thread_rows: int
    thread_columns: int
    teams: int = 1

    @property
    def threads(self) -> int:
        """Threads of a team."""
        return self.rows * self.columns // (self.thread_rows * self.thread_columns)

    @property
    def block(self) -> int:
        """Threads of a block."""
        return self.threads * self.teams

    @property
    def thread_grid(self) -> tuple[int, int]:
        """Threads along the rows, and along the columns."""
        return self.rows // self.thread_rows, self.columns // self.thread_columns

    def blocks(self, rows: int, columns: int, batch: int) -> int:
        """Return how many tiles cover `batch` outputs of `rows` by `columns`."""
        return batch * -(-rows // self.rows) * -(-columns // self.columns)

    def offsets(self, columns: bool) -> list[int]:
        """Return where the vectors of a thread start, for the first thread.

        Vectors of one thread lie apart by the vectors of all threads, so that neighbouring threads
        read neighbouring words.
        """
        total = self.columns if columns else self.rows
        own = self.thread_columns if columns else self.thread_rows
        step = total * VECTOR // own
        return [number * step for number in range(own // VECTOR)]


_LARGE = TileShape(64, 64, 16, 8, 8)
_MIDDLE = TileShape(32, 64, 16, 4, 4)
_SMALL = TileShape(32, 32, 16, 4, 4)
_NARROW = TileShape(16, 32, 16, 4, 4)
_TINY = TileShape(16, 16, 16, 4, 4)
SHAPES = (_LARGE, _MIDDLE, _SMALL, _NARROW, _TINY)
"""Every shape that is chosen from, in one team."""


def choose_shape(device: GpuDevice, rows: int, columns: int, batch: int) -> TileShape:
    """Return the largest tile of which there are enough to occupy the device.

    Of seventeen shapes the first three were within 5 % of the fastest on ten products from
    128x768x768 to 4096x4096x4096, on one H100 by CUDA. The last two are for devices that ask for
    smaller tiles, to which the second one is slow: by WebGPU on that GPU, 128x3072x768 took 1.22
    times as long with it as with the third.
    """
    is_fine = device.tile_rows <= _TINY.rows
    larger = ((_LARGE, _MANY_BLOCKS), (_MIDDLE, _ENOUGH_BLOCKS))
    for shape, share in larger[:1] if is_fine else larger:
        enough = shape.blocks(rows, columns, batch) >= share * device.multiprocessors
        if enough and _fits(shape, rows, columns) and shape.threads <= device.block_threads:
            return shape
    is_idle = _SMALL.blocks(rows, columns, batch) < _FEW_BLOCKS * device.multiprocessors
    if not is_fine or not is_idle:
        return _SMALL
    enough = _NARROW.blocks(rows, columns, batch) >= _SOME_BLOCKS * device.multiprocessors
    return _NARROW if enough else _TINY


def with_teams(
    shape: TileShape, blocks: int, steps: int, nbytes: int, device: GpuDevice
) -> TileShape:
    """Return `shape` with as many teams as the device has room for where blocks are few.

    Args:
        shape: of the tiles.
        blocks: how many there are.
        steps: of the reduction.
        nbytes: of the widest element.
        device: that the code is for.
    """
    room = _ROOM * device.multiprocessors
    for teams in (8, 4, 2):
        each = steps // teams
        whole = steps % (teams * shape.depth) == 0 and each >= _MIN_STEPS
        elements = _elements(shape, device.vector_memory)
        fits = teams * nbytes * elements <= device.static_bytes
        fits = fits and shape.threads * teams <= device.block_threads
        if whole and fits and blocks * shape.threads * teams <= room:
            return replace(shape, teams=teams)
    return shape


def _elements(shape: TileShape, in_vectors: bool) -> int:
    """Return how many elements of shared memory a team needs, whatever the order of the factors."""
    sides = (shape.rows, shape.columns)
    factors = sum(shape.depth * (side + VECTOR) for side in sides)
    if in_vectors:
        factors = max(factors, sum(side * (shape.depth + VECTOR) for side in sides))
    return factors + shape.thread_grid[0] * shape.columns


def _fits(shape: TileShape, rows: int, columns: int) -> bool:
    """Tell whether less than half of a tile would be outside of the output."""
    return 2 * rows > shape.rows and 2 * columns > shape.columns
