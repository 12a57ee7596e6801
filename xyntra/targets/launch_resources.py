# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a launch occupies of a GPU."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["LaunchResources"]


@dataclass(frozen=True)
class LaunchResources:
    """One launch of a call.

    Attributes:
        kernel: number of its kernel among those of a call.
        entry: symbol of its code.
        grid: blocks.
        block: threads of a block.
        cluster: blocks of a cluster; 1 for none.
        registers: of a thread.
        shared: bytes of shared memory of a block, static and dynamic.
        spilled: bytes of a thread's registers that are kept in memory.
        resident: blocks that a multiprocessor holds at once.
        occupancy: warps that it then holds, as a share of those that it could.
        waves: how often the GPU is filled with blocks.
        overlaps: it may begin before the launch ahead of it has ended.
        limits: the resources of a multiprocessor that leave no room for one block more; more than
            one where they are used up together.
    """

    kernel: int
    entry: str
    grid: int
    block: int
    cluster: int
    registers: int
    shared: int
    spilled: int
    resident: int
    occupancy: float
    waves: float
    overlaps: bool
    limits: tuple[str, ...]

    @property
    def limit(self) -> str:
        """What keeps the GPU from holding more warps, in words: first the grid if that is small."""
        resources = " and ".join(self.limits)
        return f"grid, {resources}" if self.waves < 1 else resources
