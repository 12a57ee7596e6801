# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaves no process behind: a caller that is killed cannot end those that it has started."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["end_of_parent", "end_with_parent"]

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h


def end_with_parent(parent: int | None = None) -> None:
    """Have the system kill this process as soon as the thread that started it ends; Linux only.

    Args:
        parent: the number of the process that started it, where known: this one ends if that has
            died already.
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if parent not in (None, os.getppid()):
            os._exit(1)


def end_of_parent() -> list[int]:
    """Return a file that can be read when the process that started this one ends.

    The list is empty where the system has no such file. That process may have threads.
    """
    try:
        return [os.pidfd_open(os.getppid())]  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        return []


if sys.platform == "linux":
    _libc = ctypes.CDLL(None)
