# SPDX-License-Identifier: MIT OR Apache-2.0
"""Shares buffers of a GPU among blocks of memory that do not live at the same time.

A buffer holds one block at a time, at its beginning: WebGPU lets no launch read one part of a
buffer and write another, and bindings have a size at most.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

from xyntra.plan.memory import Lifetime

__all__ = ["PooledBuffers", "share_buffers"]


@dataclass(frozen=True)
class PooledBuffers:
    """Which buffer each block lies in.

    Attributes:
        numbers: of buffers, by block.
        sizes: bytes of every buffer.
    """

    numbers: dict[Hashable, int]
    sizes: tuple[int, ...]


def share_buffers(lives: Mapping[Hashable, Lifetime]) -> PooledBuffers:
    """Give every block a buffer: the smallest free one that is large enough, or else the largest.

    Args:
        lives: the blocks.
    """
    numbers: dict[Hashable, int] = {}
    sizes: list[int] = []
    ends: list[int] = []
    order = sorted(lives, key=lambda each: (lives[each].first, -lives[each].nbytes))
    for block in order:
        life = lives[block]
        free = [number for number, end in enumerate(ends) if end < life.first]
        fitting = [number for number in free if sizes[number] >= life.nbytes]
        if fitting:
            number = min(fitting, key=lambda each: (sizes[each], each))
        elif free:
            number = max(free, key=lambda each: (sizes[each], -each))
            sizes[number] = life.nbytes
        else:
            number = len(sizes)
            sizes.append(life.nbytes)
            ends.append(0)
        ends[number] = life.last
        numbers[block] = number
    return PooledBuffers(numbers, tuple(sizes))
