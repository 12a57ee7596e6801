# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures how much of the machine others take while a process is being timed."""

from __future__ import annotations

import os
import time
from pathlib import Path

__all__ = ["Observer"]

_STAT = Path("/proc/stat")
_BUSY = (0, 1, 2, 5, 6, 7)
"""Of the numbers in /proc/stat: user, nice, system, irq, softirq, and steal by other machines."""


class Observer:
    """Counts processor time from its making on, where /proc tells it.

    Args:
        pids: the process that is being timed, and others that belong to it: their own time does
            not count.
    """

    def __init__(self, *pids: int | None) -> None:
        self._pids = pids
        self._start = time.perf_counter()
        self._before = self._others()

    def processors(self) -> float:
        """How many processors all others have kept busy on average so far; 0 if not known.

        The system counts in hundredths of a second: below a few tenths of a second, this is a
        rough number.
        """
        seconds = time.perf_counter() - self._start
        ticks = self._others() - self._before
        return max(ticks / os.sysconf("SC_CLK_TCK") / seconds, 0.0)

    def _others(self) -> int:
        try:
            total = _STAT.read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
            own = sum(map(_own, self._pids))
        except OSError:
            return 0
        return sum(int(total[index]) for index in _BUSY) - own


def _own(pid: int | None) -> int:
    # The name of a program, in parentheses, may hold spaces.
    fields = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()
    user, system = fields[11:13]
    return int(user) + int(system)
