# SPDX-License-Identifier: MIT OR Apache-2.0
"""Asks the system what of this machine the process may use."""

from __future__ import annotations

import os

__all__ = ["allowed_processors"]


def allowed_processors() -> int:
    """Return how many processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
