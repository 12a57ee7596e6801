# SPDX-License-Identifier: MIT OR Apache-2.0
"""The peak memory of this process and of the workers that it started."""

from __future__ import annotations

import resource
import sys

from xyntra.compiler.worker.kept_zygote import end_all

__all__ = ["peak_memory"]

# ru_maxrss is in KiB on Linux and in bytes on macOS.
_RSS_UNIT = 1 if sys.platform == "darwin" else 1024


def peak_memory() -> dict[str, int | str]:
    """Return the largest resident sets so far, in bytes.

    `parent_bytes` is this process; `worker_bytes` the largest single descendant that has ended.
    `peak_bytes` is the larger of the two and `peak_process` says which it was. The two need not
    have peaked at the same moment, so the peak of the tree lies between `peak_bytes` and their
    sum.
    """
    end_all()  # one that is kept for the next model has not ended
    parent = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * _RSS_UNIT
    worker = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * _RSS_UNIT
    return {
        "parent_bytes": parent,
        "worker_bytes": worker,
        "peak_bytes": max(parent, worker),
        "peak_process": "parent" if parent >= worker else "worker",
    }
