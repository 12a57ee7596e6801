# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that take far longer than what they move and compute asks for, and the likely reason."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.observe.equal_launches import EqualLaunches, group_launches
from xyntra.observe.launches import Launch
from xyntra.observe.text import aligned, duration, name_list, printable, shorten
from xyntra.plan.kernel import Kernel

__all__ = ["FAR", "Lost", "explain_lost_time", "lost_time"]

FAR = 2.0
"""A kernel that takes more than so many times its predicted time is far from its floor."""
_LEAST_SHARE = 0.005
_TITLE = f"far from their floor: kernels that take more than {FAR:g} times the predicted time"
_GENERAL = {
    "scalar-loops": "loops of single elements: no emitter of vectors takes them",
    "loops": "a thread for each iteration of a loop: no emitter shares its work out finer",
    "single-thread": "one thread: the order of its operations is not known to be free",
    "outputs": "a thread for each element: where it reads is no linear function of its place",
    "simt": "a product that neither tensor cores nor tiles of f32 take as its factors lie",
    "rows": "rows that do not fit in registers: they are read again for every step",
    "reduction": "a reduction that no emitter of rows or columns takes",
}
"""What it means that a general emitter made the code."""


@dataclass(frozen=True)
class Lost:
    """The time that equal launches lose together.

    Attributes:
        group: the launches.
        nanoseconds: measured beyond predicted, of all of them.
        factor: measured to predicted.
        reason: what it may come from.
    """

    group: EqualLaunches
    nanoseconds: float
    factor: float
    reason: str


def lost_time(launches: Sequence[Launch], least: float = 0.0) -> list[Lost]:
    """Return what launches take beyond their predicted times, most first.

    Those that were not measured, or have no prediction, are left out.

    Args:
        launches: of one call.
        least: leave out those that take less than so many times their prediction.
    """
    found = []
    for group in group_launches(launches):
        measured, predicted = group.measured, group.predicted
        if measured is None or not predicted or measured < least * predicted:
            continue
        reason = _reason(group.first.kernel)
        found.append(Lost(group, measured - predicted, measured / predicted, reason))
    return sorted(found, key=lambda lost: -lost.nanoseconds)


def _reason(kernel: Kernel) -> str:
    emitters = dict.fromkeys(text.split()[0] for text in kernel.schedules if text)
    if not emitters:
        return "its schedules are not recorded"
    if kernel.bound == "launch" and not emitters.keys() & _GENERAL.keys():
        return "small: starting it takes longer than what it does"
    named = [
        f"{each} ({_GENERAL[each]})" if each in _GENERAL else each
        for each in map(printable, emitters)
    ]
    return "made by " + ", ".join(named)


def explain_lost_time(launches: Sequence[Launch], width: int = 0) -> list[str]:
    """Return a table of the kernels that are far from their floor; nothing if none is.

    Args:
        launches: of one call.
        width: cut lines at this many characters; 0 for never.
    """
    whole = sum(launch.measured or 0 for launch in launches)
    found = [lost for lost in lost_time(launches, FAR) if lost.nanoseconds > _LEAST_SHARE * whole]
    if not found:
        return []
    rows = [["#", "x", "lost", "share", "times", "kernel", "nodes", "why"]]
    for lost in found:
        first = lost.group.first
        share = f"{100 * lost.nanoseconds / whole:.1f}%"
        times = f"{lost.factor:.1f}"
        size = str(len(lost.group.launches))
        name = printable(first.kernel.name)
        nodes = name_list(lost.group.nodes[:2], 0)
        rows.append([first.label, size, duration(lost.nanoseconds), share, times, name, nodes])
        rows[-1].append(lost.reason)
    return [shorten(_TITLE, width), *aligned(rows, (1, 2, 3, 4), width)]
