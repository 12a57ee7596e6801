# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells what the kernels of a call occupy of a GPU, equal launches together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

from xyntra.observe.gpu.launch_table import OCCUPIED, occupied, speeds
from xyntra.observe.text import printable
from xyntra.plan.kernel import Kernel
from xyntra.targets.launch_resources import LaunchResources

__all__ = ["LEFT", "occupancy_records", "occupancy_rows"]

LEFT = (9, -1)
"""The columns of text."""


def occupancy_rows(
    launches: Sequence[LaunchResources],
    kernels: Sequence[Kernel],
    nanoseconds: Sequence[int] | None = None,
) -> list[list[str]]:
    """Return a heading and a line for each entry point, those that take longest first.

    Args:
        launches: of a call, in order.
        kernels: of a call; launches refer to them by their number.
        nanoseconds: measured time of each kernel; it stands at the first of its launches.
    """
    lines: dict[str, tuple[float, list[str]]] = {}
    for entry, group in _by_entry(launches).items():
        first = group[0]
        kernel = kernels[first.kernel]
        taken = [nanoseconds[each.kernel] for each in group] if nanoseconds is not None else []
        mean = sum(taken) / len(taken) if taken and _is_first(first, launches) else None
        cells = [str(len(group)), *occupied(first)]
        cells += speeds(kernel, mean) if nanoseconds is not None else []
        lines[entry] = sum(taken), [*cells, printable(entry)]
    head = ["x", *OCCUPIED, *(["time", "GB/s", "TFLOP/s"] if nanoseconds is not None else [])]
    ordered = sorted(lines.values(), key=lambda line: -line[0])
    return [[*head, "code"], *(cells for _, cells in ordered)]


def occupancy_records(
    launches: Sequence[LaunchResources],
    kernels: Sequence[Kernel],
    nanoseconds: Sequence[int] | None = None,
) -> list[dict[str, Any]]:
    """Return the same as data: every launch of a call, in order."""
    return [
        asdict(each)
        | {"limit": each.limit, "nodes": list(kernels[each.kernel].fused)}
        | ({} if nanoseconds is None else {"nanoseconds": nanoseconds[each.kernel]})
        for each in launches
    ]


def _by_entry(launches: Sequence[LaunchResources]) -> Mapping[str, list[LaunchResources]]:
    groups: dict[str, list[LaunchResources]] = {}
    for each in launches:
        groups.setdefault(each.entry, []).append(each)
    return groups


def _is_first(launch: LaunchResources, launches: Sequence[LaunchResources]) -> bool:
    """Tell whether a launch is the first of its kernel."""
    return next(each for each in launches if each.kernel == launch.kernel) == launch
