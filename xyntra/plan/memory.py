# SPDX-License-Identifier: MIT OR Apache-2.0
"""Places temporaries in one arena so that tensors that live at once do not overlap.

Largest first, each at the lowest offset that is free during its whole life: "greedy by size" of
Pisarchyk and Lee, Efficient Memory Management for Deep Neural Net Inference (2020).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

ALIGNMENT = 64


@dataclass(frozen=True)
class Lifetime:
    """A block of memory needed from step `first` to step `last`, both included."""

    nbytes: int
    first: int
    last: int


@dataclass(frozen=True)
class Arena:
    """The offset of each block, in the order given, and the size of the whole."""

    offsets: tuple[int, ...]
    nbytes: int


def place(lifetimes: Sequence[Lifetime]) -> Arena:
    """Assign offsets, multiples of 64 bytes, to blocks."""
    offsets = [0] * len(lifetimes)
    # By step, the blocks that are live then; a block meets only those that share a step with it.
    live: list[list[int]] = [[] for _ in range(1 + max((b.last for b in lifetimes), default=0))]
    total = 0
    order = sorted(
        range(len(lifetimes)), key=lambda i: (-lifetimes[i].nbytes, lifetimes[i].first, i)
    )
    for index in order:
        block = lifetimes[index]
        steps = range(block.first, block.last + 1)
        others = {other for step in steps for other in live[step]}
        size = _round_up(block.nbytes)
        offset = 0
        for begin, other in sorted((offsets[other], other) for other in others):
            if begin >= offset + size:
                break
            offset = max(offset, begin + _round_up(lifetimes[other].nbytes))
        offsets[index] = offset
        for step in steps:
            live[step].append(index)
        total = max(total, offset + size)
    return Arena(tuple(offsets), total)


def _round_up(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
