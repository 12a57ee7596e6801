# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaves no process behind: a caller that is killed cannot end those that it has started."""

from __future__ import annotations

import ctypes
import os
import signal
import sys

__all__ = ["end_of_parent", "end_with_parent"]

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h


def end_with_parent(parent: int) -> None:
    """Have the system kill this process as soon as the one that forked it dies; Linux only.

    The parent must have one thread: what the system looks at is the thread that forked.

    Args:
        parent: its number; this process ends if it has died already.
    """
    if sys.platform == "linux":
        _libc.prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
        if os.getppid() != parent:
            os._exit(1)


def end_of_parent() -> list[int]:
    """Return a file to wait for, which can be read when the process that started this one ends.

    None where the system has no such thing. That process may have threads.
    """
    try:
        return [os.pidfd_open(os.getppid())]  # type: ignore[attr-defined,unused-ignore]
    except (AttributeError, OSError):
        return []


if sys.platform == "linux":
    _libc = ctypes.CDLL(None)
