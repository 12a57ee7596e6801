# SPDX-License-Identifier: MIT OR Apache-2.0
"""The schedules that the code of each kernel was made by, as text."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from xyntra.observe.launches import Launch
from xyntra.observe.text import printable, shorten
from xyntra.plan.kernel import Kernel

__all__ = ["explain_schedules", "schedule_lines"]

_TITLE = "schedules of each kernel, in order"
_TUNED = {False: ", tuned", True: ", tuned, as it comes with Xyntra"}


def schedule_lines(kernel: Kernel) -> list[str]:
    """Return a line for each schedule of a kernel, such as "1 reduction", or for equal ones."""
    lines, first = [], 1
    for text, same in groupby(kernel.schedules):
        last = first + len(list(same)) - 1
        numbers = str(first) if first == last else f"{first}-{last}"
        lines.append(f"{numbers} {printable(text)}")
        first = last + 1
    return lines


def explain_schedules(launches: Sequence[Launch], width: int = 0) -> list[str]:
    """Return the schedules of every kernel, equal kernels once; nothing where none is known.

    Args:
        launches: the steps of a plan.
        width: cut lines at this many characters; 0 for never.
    """
    first = {launch.kernel.name: launch for launch in reversed(launches)}
    found = [launch for launch in launches if first[launch.kernel.name] is launch]
    lines: list[str] = []
    for launch in found:
        told = schedule_lines(launch.kernel)
        if told:
            tuned = "" if launch.kernel.tuned is None else _TUNED[launch.kernel.packaged]
            lines += [f"{launch.label} {printable(launch.kernel.name)}{tuned}"]
            lines += [f"  {each}" for each in told]
    return [shorten(line, width) for line in [_TITLE, *lines]] if lines else []
