# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps a worker process that has answered for the next request of this process.

It has loaded the compiler by then. It ends by itself when it is not asked for a while, with this
process, and with the thread that started it.
"""

from __future__ import annotations

import atexit
import os
import sys
import threading
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xyntra.compiler.worker.worker_process import WorkerProcess

__all__ = ["IDLE", "end_all", "give_back", "keep_none", "surroundings", "take"]

IDLE = 60.0
"""Seconds without a request after which a worker ends by itself."""
_FRESH = 50.0
"""Seconds for which one is used again; well before it ends, so that few end when they are asked."""

Surroundings = tuple[object, ...]
"""What a process takes over from the one that starts it."""


@dataclass
class _Idle:
    worker: WorkerProcess
    started_in: Surroundings
    since: float


_idle: list[_Idle] = []
_keeps = True
_lock = threading.Lock()


def surroundings() -> Surroundings | None:
    """What a worker that is started now takes over; None where it cannot be told."""
    try:
        folder = os.getcwd()
    except OSError:
        return None
    return sys.executable, tuple(sys.path), folder, tuple(sorted(os.environ.items()))


def take() -> WorkerProcess | None:
    """A worker that has nothing to do, started in surroundings like these; None without one."""
    with _lock:
        found = _idle.pop() if _idle else None
    if found is None:
        return None
    is_fresh = time.monotonic() - found.since < _FRESH and found.worker.is_alive()
    if is_fresh and found.started_in == surroundings():
        return found.worker
    found.worker.end()
    return None


def give_back(worker: WorkerProcess, started_in: Surroundings | None) -> None:
    """Keep a worker that has answered."""
    if started_in is None or not _keeps:
        worker.end()
        return
    with _lock:
        others = _idle[:]
        _idle[:] = [_Idle(worker, started_in, time.monotonic())]
    for each in others:
        each.worker.end()


def keep_none() -> None:
    """Keep no workers from now on: this process compiles one model, and no more."""
    global _keeps
    _keeps = False


def end_all() -> None:
    """End what is kept."""
    while _idle:
        _idle.pop().worker.end()


def _forget() -> None:
    """Leave the worker to the process that has it; this one was forked from it."""
    global _lock
    _lock = threading.Lock()
    while _idle:
        _idle.pop().worker.leave()


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
