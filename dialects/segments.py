# SPDX-License-Identifier: MIT OR Apache-2.0
"""Distributes values of several types over the variadic groups of an op defined in Python.

All values of one variadic group must have one type, so `xyntra.fused` and `xyntra.yield` have
`SEGMENTS` groups. Neighbours of equal type share a group; where that would take too many groups,
the values are ordered by type first.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby

from xyntra.dialects.base import ir
from xyntra.errors import UnsupportedError

__all__ = ["SEGMENTS", "Segments", "assign_segments"]

SEGMENTS = 8


@dataclass(frozen=True)
class Segments:
    """`order[i]`: which of the caller's values stands at place i; `sizes`: values a group."""

    order: tuple[int, ...]
    sizes: tuple[int, ...]


def assign_segments(types: Sequence[ir.Type]) -> Segments:
    """Spread values of `types` over the groups, keeping their order where that is possible.

    Raises:
        UnsupportedError: there are more than `SEGMENTS` distinct types.
    """
    order = list(range(len(types)))
    if len(_run_lengths(types, order)) > SEGMENTS:
        first = {kind: index for index, kind in reversed(list(enumerate(types)))}
        order.sort(key=lambda index: first[types[index]])
    sizes = _run_lengths(types, order)
    if len(sizes) > SEGMENTS:
        raise UnsupportedError(
            "too-many-result-types",
            f"a fused region yields {len(sizes)} distinct types, and at most {SEGMENTS} fit",
            hint="fuse fewer operations into one kernel",
        )
    return Segments(tuple(order), tuple(sizes) + (0,) * (SEGMENTS - len(sizes)))


def _run_lengths(types: Sequence[ir.Type], order: Sequence[int]) -> list[int]:
    return [len(list(run)) for _, run in groupby(order, key=lambda index: types[index])]
