# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the tiles of an f32 contraction on FMAs: block, reduction step and thread."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from math import ceil

from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.cuda.matmul.mma.tiles import MmaTile, split_refusal, useful_splits
from xyntra.passes.lower.gpu.device import GpuDevice

VECTOR = 4
"""Contiguous elements that a thread takes at once from shared memory, 16 bytes."""
DEPTH = 16
"""Steps of the reduction in one part."""
_PADDING = 4  # elements behind every step of a part, so that steps start in different banks
_LANES = 32
_SCHEDULERS = 4  # of one multiprocessor
_FEW_REGISTERS, _MANY_REGISTERS = 128, 255

# What the estimate knows of an H100, fitted to 135 measured contractions and convolutions, of which
# it misses the times by 5 % in the geometric mean; the tile it chooses took 1 % more than the best.
_CLOCK = 1755.0  # cycles in a microsecond
_PART = 108  # more cycles of a warp in every part
_STALL = 0.21  # warps' worth of work that a scheduler waits
_START, _WAVE = 2.5, 0.4  # microseconds of a launch, and of blocks that follow others
_RESULT, _CLUSTER = 9.2e-5, 1.2  # microseconds a sum, and of adding up in a cluster
_CROWDING = {1: 1.0, 2: 1.01, 4: 1.1, 8: 1.09}  # blocks of the fullest multiprocessor, by cluster
# Estimates that tell nothing apart. A block that has a multiprocessor for itself waits for memory:
# 49x768x1536 took 26 us on an H200 by 96 blocks, where the estimate is 10.
_NEAR, _SEVERAL = 1.05, 2
_FEW_ROWS = 16  # the most for which tiles of eight rows were measured
_MOST_SUMS = 64  # of a thread that gets by with few registers


@dataclass(frozen=True)
class FmaTile:
    """A part of the output that one block computes, and how threads share it.

    Attributes:
        rows: of the tile.
        columns: of the tile.
        lane_rows: threads of a warp above each other, a power of two up to eight.
        own_rows: rows of one thread, a multiple of four.
        own_columns: columns of one thread, a multiple of four.
        stages: parts of the factors that are in shared memory at once.
        split: blocks that share the reduction of a tile, one cluster.
    """

    rows: int
    columns: int
    lane_rows: int
    own_rows: int = 8
    own_columns: int = 8
    stages: int = 3
    split: int = 1

    @property
    def lane_columns(self) -> int:
        """Threads of a warp side by side."""
        return _LANES // self.lane_rows

    @property
    def warp_rows(self) -> int:
        """Warps above each other."""
        return self.rows // (self.lane_rows * self.own_rows)

    @property
    def warp_columns(self) -> int:
        """Warps side by side."""
        return self.columns // (self.lane_columns * self.own_columns)

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return _LANES * self.warp_rows * self.warp_columns

    @property
    def result(self) -> MmaTile:
        """The tile as what writes results sees it: warps of whole rows."""
        return MmaTile(self.rows, self.columns, self.threads // _LANES, 1, self.stages, self.split)

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage: steps of the left factor, behind them those of the right one."""
        return part_bytes(self.rows) + part_bytes(self.columns)

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory: the stages, and afterwards in their place the result."""
        return max(self.stages * self.stage_bytes, self.rows * self.result.pitch * 4)

    @property
    def registers(self) -> int:
        """Registers that a thread may take."""
        few = self.own_rows * self.own_columns <= _MOST_SUMS
        return _FEW_REGISTERS if few else _MANY_REGISTERS

    def bound(self, device: GpuDevice, more: int = 0) -> int:
        """Return how many blocks one multiprocessor has registers for, `more` in every thread."""
        return device.registers // (self.threads * self._allocated(more))

    def resident(self, device: GpuDevice) -> int:
        """Return how many blocks one multiprocessor holds at once; 0 where none finds room."""
        return device.resident(self.threads, self.shared_bytes, self._allocated())

    def _allocated(self, more: int = 0) -> int:
        """Return the registers of a thread that may take `more`: they are allocated by eights."""
        return (self.registers + more + 1) & ~7

    def microseconds(
        self, device: GpuDevice, rows: int, columns: int, batch: int, parts: int
    ) -> float:
        """Estimate how long a contraction of `parts` parts takes with a tile that fits."""
        all_blocks = self.tiles(rows, columns, batch) * self.split
        blocks = ceil(all_blocks * _CROWDING[self.split] / device.multiprocessors)
        resident = self.resident(device)
        waves, last = divmod(blocks, resident)
        cycles = waves * self._cycles(resident) + (self._cycles(last) if last else 0.0)
        time = _START + cycles * parts / self.split / _CLOCK
        time += blocks * self.rows * self.columns * _RESULT + (waves + (last > 0)) * _WAVE
        return time + (_CLUSTER if self.split > 1 else 0.0)

    def _cycles(self, blocks: int) -> float:
        """Estimate the cycles in which so many blocks of one multiprocessor compute a part."""
        own = self.own_rows * self.own_columns + (self.own_rows + self.own_columns) / VECTOR
        warps = ceil(blocks * self.threads / (_LANES * _SCHEDULERS))
        return (DEPTH * own + _PART) * (warps + _STALL)

    def tiles(self, rows: int, columns: int, batch: int) -> int:
        """Return how many tiles cover `batch` outputs of `rows` by `columns`."""
        return batch * -(-rows // self.rows) * -(-columns // self.columns)


def pitch(width: int) -> int:
    """Return how many elements of a part lie from one step to the next."""
    return width + _PADDING


def part_bytes(width: int) -> int:
    """Return the bytes of a part of `width` rows or columns in shared memory."""
    return DEPTH * pitch(width) * 4


_LARGEST = FmaTile(128, 128, 4, stages=2)
_SHAPES = (
    _LARGEST,
    FmaTile(64, 128, 4),
    FmaTile(128, 64, 4),
    FmaTile(64, 64, 4),
    FmaTile(64, 64, 4, own_columns=4),
    FmaTile(32, 32, 4, 4, 4),
    FmaTile(8, 64, 2, 4, 4),
)


def fma_shapes() -> tuple[FmaTile, ...]:
    """Return every shape that there is code for."""
    return _SHAPES


def fma_refusal(tile: FmaTile, device: GpuDevice, parts: int) -> str | None:
    """Return what is wrong with a tile, of a reduction of `parts` parts; None for nothing."""
    if replace(tile, split=1) not in _SHAPES:
        known = (
            f"{[each.rows, each.columns]} of {[each.own_rows, each.own_columns]} a thread,"
            f" {each.lane_rows} lane_rows and {each.stages} stages"
            for each in _SHAPES
        )
        return f"has other tiles: {'; '.join(known)}"
    return split_refusal(tile.split, device, parts) or (
        None if tile.resident(device) else f"has no room for {tile.shared_bytes} bytes of stages"
    )


def fma_choices(device: GpuDevice, parts: int) -> list[FmaTile]:
    """Return every tile that a block has room for.

    Args:
        device: that the code is for.
        parts: of the reduction, each of `DEPTH` steps.
    """
    tiles = [
        replace(shape, split=split)
        for shape, split in product(_SHAPES, useful_splits(device, parts))
    ]
    return [tile for tile in tiles if tile.resident(device)]


def choose_fma_tile(
    device: GpuDevice,
    rows: int,
    columns: int,
    batch: int,
    parts: int,
    *,
    in_vectors: bool = True,
) -> FmaTile | None:
    """Return the tile with the shortest estimate; None where a block has room for none.

    Args:
        device: that the code is for.
        rows: of the output.
        columns: of the output.
        batch: outputs.
        parts: of the reduction, each of `DEPTH` steps.
        in_vectors: both factors are copied in vectors; where they are not, the largest tile was
            never the fastest.
    """
    known = _SHAPES if in_vectors else [shape for shape in _SHAPES if shape != _LARGEST]
    has_few = hint_of(rows) <= _FEW_ROWS
    shapes = [shape for shape in known if shape.rows >= _FEW_ROWS or has_few]
    candidates = [
        replace(shape, split=split)
        for shape, split in product(shapes, useful_splits(device, parts))
    ]
    times = {
        tile: tile.microseconds(device, rows, columns, batch, parts)
        for tile in candidates
        if tile.resident(device)
    }

    def blocks(tile: FmaTile) -> int:
        count: int = hint_of(tile.tiles(rows, columns, batch)) * tile.split
        return count

    best = min(times, key=lambda tile: times[tile], default=None)
    if best is None or blocks(best) > device.multiprocessors:
        return best
    many = [tile for tile in times if blocks(tile) >= _SEVERAL * device.multiprocessors]
    near = min(many, key=lambda tile: times[tile], default=best)
    return near if times[near] <= _NEAR * times[best] else best
