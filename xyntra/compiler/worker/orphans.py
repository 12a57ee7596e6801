# SPDX-License-Identifier: MIT OR Apache-2.0
"""Leaves no process behind: a caller that is killed cannot end those that it has started."""

from __future__ import annotations

import ctypes
import signal
import sys

__all__ = ["end_with_parent"]

_SET_PARENT_DEATH_SIGNAL = 1  # PR_SET_PDEATHSIG, linux/prctl.h


def end_with_parent() -> None:
    """Have the system kill this process as soon as the one that started it dies; Linux only."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_SET_PARENT_DEATH_SIGNAL, signal.SIGKILL)
