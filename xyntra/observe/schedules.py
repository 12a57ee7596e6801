# SPDX-License-Identifier: MIT OR Apache-2.0
"""The schedules that the code of each kernel was made by, as text."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.observe.launches import Launch
from xyntra.observe.text import printable, shorten
from xyntra.plan.kernel import Kernel

__all__ = ["explain_schedules", "schedule_lines"]

_TITLE = "schedules of each kernel, in order"


def schedule_lines(kernel: Kernel) -> list[str]:
    """Return a line for each schedule of a kernel, such as "1 reduction"."""
    return [f"{number} {printable(text)}" for number, text in enumerate(kernel.schedules, start=1)]


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
            lines += [f"{launch.label} {printable(launch.kernel.name)}"]
            lines += [f"  {each}" for each in told]
    return [shorten(line, width) for line in [_TITLE, *lines]] if lines else []
