# SPDX-License-Identifier: MIT OR Apache-2.0
"""Chooses the tiles of a contraction on tensor cores: block, warps, stages and split-K."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product

from xyntra.passes.lower.gpu.device import Feature, GpuDevice

ROW_BYTES = 128
"""Bytes of a row of either factor that one stage holds."""
_REGISTERS = 64  # of a thread, as the estimate has it
_SPLITS = (1, 2, 4, 8)
_MIN_PARTS = 2  # of a slice of the reduction
_STAGES_BYTES = 100 << 10  # of all stages, so that an H100's multiprocessor holds two blocks
_LEAST_STAGES, _MOST_STAGES = 2, 6
_PADDING = 8  # f32s behind each row of the result, so that rows start in different banks

# What the estimate knows of one multiprocessor of an H100: fitted to 256 measured contractions and
# convolutions, of which it misses the times by 13 % in the geometric mean.
_MULTIPLY = 3.2e6  # products of a row's byte with a column, in a microsecond
_COPY = 56e3  # bytes in a microsecond, while all others copy as well
_LATENCY = 0.8  # microseconds from the start of a copy to its end
_START = 1.2  # microseconds of a launch
_RESULT, _EXCHANGE = (
    3.0e-5,
    3.6e-5,
)  # microseconds a byte of accumulators, to write them and to add them up
_CLUSTER, _MEMBER = 0.7, 0.2  # microseconds that a cluster waits, and more for each of its blocks


@dataclass(frozen=True)
class MmaTile:
    """A part of the output that one block computes, and the warps that share it.

    Attributes:
        rows: of the tile.
        columns: of the tile.
        warp_rows: warps above each other.
        warp_columns: warps side by side.
        stages: parts of the factors that are in shared memory at once.
        split: blocks that share the reduction of a tile, one cluster.
    """

    rows: int
    columns: int
    warp_rows: int
    warp_columns: int
    stages: int = 3
    split: int = 1

    @property
    def threads(self) -> int:
        """Threads of a block."""
        return 32 * self.warp_rows * self.warp_columns

    @property
    def own_rows(self) -> int:
        """Rows of one warp, a multiple of 16."""
        return self.rows // self.warp_rows

    @property
    def own_columns(self) -> int:
        """Columns of one warp, a multiple of 16."""
        return self.columns // self.warp_columns

    @property
    def stage_bytes(self) -> int:
        """Bytes of one stage: rows of the left factor, behind them those of the right one."""
        return (self.rows + self.columns) * ROW_BYTES

    @property
    def pitch(self) -> int:
        """Words from one row of the result to the next in shared memory."""
        return self.columns + _PADDING

    @property
    def shared_bytes(self) -> int:
        """Bytes of shared memory: the stages, and afterwards in their place the result."""
        return max(self.stages * self.stage_bytes, self.rows * self.pitch * 4)

    def resident(self, device: GpuDevice) -> int:
        """Return how many blocks one multiprocessor holds at once; 0 where none finds room."""
        return device.resident(self.threads, self.shared_bytes, _REGISTERS)

    def tiles(self, rows: int, columns: int, batch: int) -> int:
        """Return how many tiles cover `batch` outputs of `rows` by `columns`."""
        return batch * -(-rows // self.rows) * -(-columns // self.columns)

    def microseconds(
        self, device: GpuDevice, rows: int, columns: int, batch: int, parts: int
    ) -> float:
        """Estimate how long a contraction of `parts` parts takes with a tile that fits."""
        blocks = self.tiles(rows, columns, batch) * self.split
        waves = -(-blocks // (device.multiprocessors * self.resident(device)))
        own = -(-parts // self.split)
        work = max(self.rows * self.columns * ROW_BYTES / _MULTIPLY, self.stage_bytes / _COPY)
        result = self.rows * self.columns * 4 * (_RESULT + (_EXCHANGE if self.split > 1 else 0.0))
        busy = -(-blocks // device.multiprocessors) * (own * work + result)
        waiting = waves * (own * _LATENCY / (self.stages - 1) + result)
        cluster = _CLUSTER + _MEMBER * self.split if self.split > 1 else 0.0
        return max(busy, waiting) + waves * cluster + _START


_SHAPES = (
    MmaTile(128, 128, 2, 2),
    MmaTile(128, 64, 2, 2),
    MmaTile(64, 128, 2, 4),
    MmaTile(64, 64, 2, 2),
    MmaTile(64, 32, 4, 1),
    MmaTile(32, 64, 2, 2),
    MmaTile(32, 32, 2, 2),
    MmaTile(16, 128, 1, 4),
    MmaTile(16, 64, 1, 4),
    MmaTile(16, 32, 1, 2),
    MmaTile(128, 16, 4, 1),
    MmaTile(64, 16, 4, 1),
)


def mma_shapes() -> tuple[MmaTile, ...]:
    """Return every shape that there is code for, with the fewest stages."""
    return _SHAPES


def mma_refusal(tile: MmaTile, device: GpuDevice, parts: int) -> str | None:
    """Return what is wrong with a tile, of a reduction of `parts` parts; None for nothing."""
    shape = replace(tile, stages=_SHAPES[0].stages, split=1)
    if shape not in _SHAPES:
        known = (
            f"{[each.rows, each.columns]} of {[each.warp_rows, each.warp_columns]} warps"
            for each in _SHAPES
        )
        return f"has other tiles: {', '.join(known)}"
    if not _LEAST_STAGES <= tile.stages <= _MOST_STAGES:
        return f"has {_LEAST_STAGES} to {_MOST_STAGES} stages, not {tile.stages}"
    return split_refusal(tile.split, device, parts) or (
        None if tile.resident(device) else f"has no room for {tile.shared_bytes} bytes of stages"
    )


def split_refusal(split: int, device: GpuDevice, parts: int) -> str | None:
    """Return why `split` blocks cannot share a reduction of `parts` parts; None where they can."""
    most = min(_SPLITS[-1], parts) if device.has(Feature.CLUSTERS) else 1
    return None if 1 <= split <= most else f"splits this reduction in 1 to {most}, not {split}"


def mma_choices(device: GpuDevice, parts: int) -> list[MmaTile]:
    """Return every tile that a block has room for, with any useful number of stages.

    Args:
        device: that the code is for.
        parts: of the reduction, each as long as a stage.
    """
    tiles = [
        replace(shape, stages=stages, split=split)
        for shape, split in product(_SHAPES, useful_splits(device, parts))
        for stages in range(_LEAST_STAGES, _MOST_STAGES + 1)
        if stages == _LEAST_STAGES or stages <= -(-parts // split) + 1
    ]
    return [tile for tile in tiles if tile.resident(device)]


def useful_splits(device: GpuDevice, parts: int) -> list[int]:
    """Return how many blocks may be worth a share of a reduction of `parts` parts."""
    known = _SPLITS if device.has(Feature.CLUSTERS) else _SPLITS[:1]
    return [split for split in known if split == 1 or parts // split >= _MIN_PARTS]


def choose_mma_tile(
    device: GpuDevice, rows: int, columns: int, batch: int, parts: int
) -> MmaTile | None:
    """Return the tile with the shortest estimate; None where a block has room for none.

    Args:
        device: that the code is for.
        rows: of the output.
        columns: of the output.
        batch: outputs.
        parts: of the reduction, each as long as a stage.
    """
    splits = useful_splits(device, parts)
    candidates = [_staged(device, shape, split, parts) for shape, split in product(_SHAPES, splits)]
    return min(
        (tile for tile in candidates if tile.resident(device)),
        key=lambda tile: tile.microseconds(device, rows, columns, batch, parts),
        default=None,
    )


def _staged(device: GpuDevice, shape: MmaTile, split: int, parts: int) -> MmaTile:
    """Return `shape` with as many stages as its slice of the reduction has use for."""
    room = min(_STAGES_BYTES, device.block_shared_bytes)
    most = min(_MOST_STAGES, room // shape.stage_bytes)
    stages = max(_LEAST_STAGES, min(most, -(-parts // split) + 1))
    return replace(shape, stages=stages, split=split)
