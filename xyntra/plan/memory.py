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
    """Where each block lies, in the order given, and the size of the whole."""

    offsets: tuple[int, ...]
    nbytes: int


def place(lifetimes: Sequence[Lifetime]) -> Arena:
    """Assign offsets, multiples of 64 bytes, to blocks."""
    offsets = [0] * len(lifetimes)
    placed: list[tuple[int, int, Lifetime]] = []
    total = 0
    order = sorted(
        range(len(lifetimes)), key=lambda i: (-lifetimes[i].nbytes, lifetimes[i].first, i)
    )
    for index in order:
        block = lifetimes[index]
        offset = 0
        for begin, end, other in placed:
            if end <= offset or other.last < block.first or block.last < other.first:
                continue
            if begin >= offset + block.nbytes:
                break
            offset = end
        end = offset + _round_up(block.nbytes)
        offsets[index] = offset
        placed.append((offset, end, block))
        placed.sort(key=lambda entry: entry[0])
        total = max(total, end)
    return Arena(tuple(offsets), total)


def _round_up(nbytes: int) -> int:
    return -(-max(nbytes, 1) // ALIGNMENT) * ALIGNMENT
