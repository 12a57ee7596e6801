# SPDX-License-Identifier: MIT OR Apache-2.0
"""A table of the launches of a GPU: what they occupy, and how fast they move and compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from xyntra.observe.text import UNKNOWN, aligned, count, duration
from xyntra.plan.kernel import Kernel

if TYPE_CHECKING:
    from xyntra.targets.launch_resources import LaunchResources


__all__ = ["OCCUPIED", "launch_table", "occupied", "speeds"]

OCCUPIED = (
    "grid", "block", "registers", "spilled", "shared", "blocks/SM", "occupancy", "waves", "limit",
)  # fmt: skip
"""The columns of what launches occupy."""
_HEADER = ["#", *OCCUPIED, "early", "time", "GB/s", "TFLOP/s", "code"]


def launch_table(
    launches: Sequence[LaunchResources],
    kernels: Sequence[Kernel],
    nanoseconds: Sequence[int] | None,
) -> str:
    """Return the table, a line for every launch; early ones may begin before the last has ended.

    Args:
        launches: of a call, in order.
        kernels: of a call; launches refer to them by their number.
        nanoseconds: measured time of each kernel; shown, with what follows from it, in the line of
            the kernel's first launch.
    """
    rows = [_HEADER]
    seen: set[int] = set()
    for each in launches:
        first = each.kernel not in seen
        seen.add(each.kernel)
        time = nanoseconds[each.kernel] if nanoseconds is not None and first else None
        early = "yes" if each.overlaps else "no"
        cells = [str(each.kernel), *occupied(each), early, *speeds(kernels[each.kernel], time)]
        rows.append([*cells, each.entry])
    return "\n".join(aligned(rows, right=tuple(range(len(_HEADER) - 1))))


def occupied(launch: LaunchResources) -> list[str]:
    """Return the cells of what a launch occupies."""
    grid = str(launch.grid) + (f"/{launch.cluster}" if launch.cluster > 1 else "")
    return [
        grid,
        str(launch.block),
        str(launch.registers),
        f"{launch.spilled}B",
        f"{count(launch.shared)}B",
        str(launch.resident),
        f"{100 * launch.occupancy:.0f}%",
        f"{launch.waves:.2f}",
        launch.limit,
    ]


def speeds(kernel: Kernel, nanoseconds: float | None) -> list[str]:
    """Return the cells of a kernel's time, GB/s and TFLOP/s."""
    if not nanoseconds:
        return [UNKNOWN] * 3
    return [
        duration(nanoseconds),
        f"{kernel.bytes / nanoseconds:.0f}",
        f"{kernel.flops / nanoseconds / 1000:.2f}",
    ]
