# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a target may add to row kernels for long rows: staged rows and clusters."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.loops.linear_nest import BufferOperand


class StagedRows(Protocol):
    """Rows that are staged in shared memory; every thread uses a part of its own."""

    @property
    def used(self) -> int:
        """Bytes of the block."""

    def copy(
        self, access: BufferOperand, lanes: int, places: Sequence[ir.Value]
    ) -> Callable[[int], ir.Value]:
        """Begin to copy vectors of a thread; returns what gives them by number, once arrived."""

    def arrive(self) -> None:
        """Wait until all copies of the thread are there."""

    def forget(self) -> None:
        """Let vectors be loaded again behind this."""


class BlockCluster(Protocol):
    """Blocks that run at once, and combine what they have; nothing may be left to do behind it."""

    def arrive(self) -> None:
        """Say that this block runs."""

    def await_others(self) -> None:
        """Wait until all blocks run."""

    def rank(self) -> ir.Value:
        """Return the number of this block in its cluster, an i32."""

    def combine(self, value: ir.Value, combiner: Combiner, size: int) -> ir.Value:
        """Return the combination of what `size` blocks have, in every thread."""

    def gather(
        self, values: Sequence[ir.Value], warps: int, size: int
    ) -> list[tuple[ir.Value, ...]]:
        """Return two f32s of all `warps` of `size` blocks, a share of them in every lane."""


@dataclass(frozen=True)
class RowExtras:
    """Makers of these for a launch.

    Attributes:
        stage: for a device with `Feature.ASYNC_COPIES`; takes the threads of a block.
        cluster: for a device with `Feature.CLUSTERS`.
    """

    stage: Callable[[int, SharedMemory], StagedRows]
    cluster: Callable[[SharedMemory], BlockCluster]
