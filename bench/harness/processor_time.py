# SPDX-License-Identifier: MIT OR Apache-2.0
"""The processor time of this process and of all that it started."""

from __future__ import annotations

from contextlib import suppress

import psutil

__all__ = ["processor_seconds"]


def processor_seconds() -> float:
    """Return the seconds, in user and system mode, of this process and its descendants so far.

    Those count that are still there, and those for whose end their parents have waited: it is to
    be asked before workers that are kept for the next model are ended.
    """
    here = psutil.Process()
    total = 0.0
    for each in [here, *here.children(recursive=True)]:
        with suppress(psutil.NoSuchProcess):  # its parent counts it by now
            spent = each.cpu_times()
            total += spent.user + spent.system + spent.children_user + spent.children_system
    return total
