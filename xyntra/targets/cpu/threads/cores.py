# SPDX-License-Identifier: MIT OR Apache-2.0
"""The cores that this process may use."""

from __future__ import annotations

import os
from pathlib import Path

__all__ = ["allowed_cores", "core_of_cpus"]

_CPUS = Path("/sys/devices/system/cpu")
_QUOTA = Path("/sys/fs/cgroup/cpu.max")


def core_of_cpus() -> dict[int, int]:
    """The core of every CPU that this thread may run on; a core has the number of its first CPU.

    Where the system does not tell, every CPU is a core.
    """
    if not hasattr(os, "sched_getaffinity"):
        return {cpu: cpu for cpu in range(os.cpu_count() or 1)}
    allowed = sorted(os.sched_getaffinity(0))
    first: dict[str, int] = {}
    return {cpu: first.setdefault(_siblings(cpu), cpu) for cpu in allowed}


def allowed_cores() -> int:
    """How many threads compute at the same time without sharing a core, within the CPU quota."""
    cores = len(set(core_of_cpus().values()))
    return max(1, min(cores, _quota() or cores))


def _siblings(cpu: int) -> str:
    try:
        return (_CPUS / f"cpu{cpu}" / "topology" / "thread_siblings_list").read_text()
    except OSError:
        return str(cpu)


def _quota() -> int | None:
    """The CPUs that the control group of a container grants, rounded up; None without a limit."""
    try:
        limit, period = _QUOTA.read_text().split()
        return None if limit == "max" else -(-int(limit) // int(period))
    except (OSError, ValueError):
        return None
