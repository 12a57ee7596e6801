# SPDX-License-Identifier: MIT OR Apache-2.0
"""The factors of a convolution as TMA brings them, tap by tap: pixels of an image, and weights."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.matmul.wgmma.factor import StagePlace, StageTarget
from xyntra.passes.lower.cuda.matmul.wgmma.tiles import BLOCK, BLOCK_BYTES
from xyntra.passes.lower.cuda.ptx.tma import cp_async_bulk_tensor_load
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.gpu.conv.image_axes import ImageAxis
from xyntra.passes.lower.gpu.emit.thread_grid import as_i32, i32


@dataclass(frozen=True)
class TapStages:
    """The stages of the reduction: for every tap of the filter, the channels by parts.

    Attributes:
        loops: of the taps, with extents.
        parts: of the channels.
        channels: of one part.
    """

    loops: tuple[tuple[int, int], ...]
    parts: int
    channels: int

    @property
    def steps(self) -> int:
        """Stages in all."""
        count = self.parts
        for _, extent in self.loops:
            count *= extent
        return count

    def at(self, step: ir.Value) -> tuple[ir.Value, dict[int, ir.Value]]:
        """Return the first channel of a stage, and the number of its tap in every loop, i32s."""
        first = arith.muli(arith.remui(step, i32(self.parts)), i32(self.channels))
        rest = arith.divui(step, i32(self.parts))
        numbers = {}
        for place, (loop, extent) in enumerate(self.loops):
            is_last = place == len(self.loops) - 1
            numbers[loop] = rest if is_last else arith.remui(rest, i32(extent))
            rest = arith.divui(rest, i32(extent))
        return first, numbers


@dataclass(frozen=True)
class GatheredImage:
    """The image as TMA gathers it.

    Attributes:
        axes: its dimensions, but for channels and the last one.
        last: the dimension that has no taps: images of a batch; None for a single one.
        taps: of the filter.
        map: of the tensor.
    """

    axes: tuple[ImageAxis, ...]
    last: ImageAxis | None
    taps: TapStages
    map: TensorMap
    is_deep: bool = True

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copy of one stage."""
        channel, taps = self.taps.at(place.step)
        short = ir.IntegerType.get_signless(16)
        places, offsets, rest = [], [], place.first
        for axis in self.axes:
            own: ir.Value = i32(0)
            if axis.row is not None:
                own = arith.remui(rest, i32(axis.outputs))
                rest = arith.divui(rest, i32(axis.outputs))
            places.append(arith.addi(arith.muli(own, i32(axis.step)), i32(axis.first)))
            moved: ir.Value = i32(0)
            if axis.tap is not None:
                moved = arith.muli(taps[axis.tap], i32(axis.spread))
            for loop, positions in axis.shifts:
                ahead = arith.muli(as_i32(place.batch[loop]), i32(positions))
                moved = arith.addi(moved, ahead)
            offsets.append(arith.trunci(short, moved))
        places.append(rest)
        cp_async_bulk_tensor_load(
            stage.target, stage.tensor, [channel, *places], stage.full, offsets
        )


@dataclass(frozen=True)
class GatheredFilter:
    """The filter as TMA copies it.

    Attributes:
        is_deep: channels are contiguous in memory; else columns are.
        taps: of the filter.
        others: the dimensions of the tensor besides channels and columns: loops over taps, and of
            the batch, each with how far a step of it moves.
        map: of the tensor: channels and columns, with `others` behind both or between them.
        copies: of which a stage needs as many.
    """

    is_deep: bool
    taps: TapStages
    others: tuple[tuple[tuple[int, int], ...], ...]
    map: TensorMap
    copies: int

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copies of one stage."""
        channel, numbers = self.taps.at(place.step)
        taps = [self._along(loops, numbers, place) for loops in self.others]
        for number in range(self.copies):
            target = arith.addi(stage.target, i32(number * BLOCK_BYTES))
            column = arith.addi(place.first, i32(number * BLOCK))
            corner = [channel, *taps, column] if self.is_deep else [column, channel, *taps]
            cp_async_bulk_tensor_load(target, stage.tensor, corner, stage.full)

    def _along(
        self, loops: Sequence[tuple[int, int]], taps: dict[int, ir.Value], place: StagePlace
    ) -> ir.Value:
        """Return where a stage lies along a dimension, an i32."""
        total: ir.Value = i32(0)
        for loop, step in loops:
            number = taps[loop] if loop in taps else as_i32(place.batch[loop])
            total = arith.addi(total, arith.muli(number, i32(step)))
        return total
