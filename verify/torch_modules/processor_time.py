# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the processor time of this process and of all that it started, from Linux's /proc.

On a machine that other programs use as well, it says more of a compiler's work than the clock does.
"""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["seconds_of_tree"]


def seconds_of_tree() -> float:
    """Return the seconds that this process, its descendants, and those that ended have computed.

    What a descendant took counts after its end only where its parent has waited for it.
    """
    parents, ticks = {}, {}
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            # The name of a program, in parentheses, may hold spaces.
            fields = path.read_text(encoding="utf-8", errors="replace").rsplit(")", 1)[1].split()
        except OSError:  # it has ended
            continue
        process = int(path.parent.name)
        parents[process], ticks[process] = int(fields[1]), sum(map(int, fields[11:15]))
    own = {os.getpid()}
    while more := {child for child, parent in parents.items() if parent in own} - own:
        own |= more
    return sum(ticks.get(each, 0) for each in own) / os.sysconf("SC_CLK_TCK")
