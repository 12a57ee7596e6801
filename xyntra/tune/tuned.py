# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines what a compile is told of a tuned kernel; nothing of MLIR is loaded for it."""

from __future__ import annotations

from typing import NamedTuple

from xyntra.version import VERSION

__all__ = ["Tuned", "versions"]

SCHEDULES_VERSION = 1
"""Raise it where schedules of the same words make other code, so that older ones are not used."""


class Tuned(NamedTuple):
    """The schedules that were found best for a kernel.

    Attributes:
        schedules: as `xyntra.tune.records.write_schedules` has them.
        nanoseconds: median of a launch with them, when they were found.
        packaged: whether they came with the package, and not from a search on this machine.
    """

    schedules: str
    nanoseconds: float
    packaged: bool = False


def versions() -> str:
    """Return what a schedule that was found good is taken for: its words may change."""
    return f"xyntra {VERSION}, schedules {SCHEDULES_VERSION}"
