# SPDX-License-Identifier: MIT OR Apache-2.0
"""Lists the launches on a GPU that begin before the one ahead has ended."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from xyntra.observe.text import aligned

__all__ = ["launch_overlap"]


def launch_overlap(kernels: Sequence[str], overlaps: Mapping[str, Sequence[bool]]) -> list[str]:
    """Return lines that count such launches, and name those that wait for the end of the other.

    Args:
        kernels: names of those of a call, in order.
        overlaps: for each kernel, whether its launches may begin before the one ahead has ended.
    """
    launches = [
        (name, number, may) for name in kernels for number, may in enumerate(overlaps.get(name, ()))
    ]
    behind = launches[1:]
    waiting = Counter((name, number) for name, number, may in behind if not may)
    early = len(behind) - waiting.total()
    lines = [f"launches a call: {len(launches)}, of which {early} begin while the one before ends"]
    if not early or not waiting:
        return lines
    rows = [[f"{times} x", name, f"launch {number}"] for (name, number), times in waiting.items()]
    return [*lines, "those that wait for its end:", *aligned(rows, right=(0,))]
