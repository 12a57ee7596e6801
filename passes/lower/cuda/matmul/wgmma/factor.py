# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines how an operand of wgmma is brought to shared memory, stage by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.tensor_map import TensorMap
from xyntra.passes.lower.loops.loop_builder import Position


@dataclass(frozen=True)
class StageTarget:
    """The destination of a stage of a factor in shared memory.

    Attributes:
        tensor: the factor's tensor map.
        target: address in shared memory, an i32.
        full: the barrier that counts the bytes.
    """

    tensor: ir.Value
    target: ir.Value
    full: ir.Value


@dataclass(frozen=True)
class StagePlace:
    """The part of a factor that a stage holds.

    Attributes:
        batch: position of the batch loops.
        first: the first row or column, an i32.
        step: number of the stage along the reduction, an i32.
    """

    batch: Position
    first: ir.Value
    step: ir.Value


class TmaOperand(Protocol):
    """A factor that TMA brings, stage by stage."""

    @property
    def is_deep(self) -> bool:
        """Tell whether steps are contiguous in shared memory; else rows or columns are."""

    @property
    def map(self) -> TensorMap:
        """The tensor map."""

    def bring(self, stage: StageTarget, place: StagePlace) -> None:
        """Emit the copies of one stage."""
