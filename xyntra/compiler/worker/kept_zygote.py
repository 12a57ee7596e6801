# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the zygote of this process, which all of its threads use.

It ends by itself when it is not asked for a while, and with this process. One that has ended, or
was started with other rights, limits or libraries, is replaced.
"""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from xyntra.compiler.worker.surroundings import unchangeable
from xyntra.compiler.worker.zygote_process import ZygoteProcess

__all__ = ["IDLE", "end_all", "pid", "zygote"]

IDLE = 60.0
"""Seconds without anything to compile after which a zygote ends by itself."""


@dataclass
class _Kept:
    process: ZygoteProcess
    started_with: tuple[object, ...]
    users: int = 0


_kept: _Kept | None = None
_lock = threading.Lock()


@contextmanager
def zygote(start: Callable[[], ZygoteProcess]) -> Iterator[ZygoteProcess]:
    """The zygote that there is, or the one that `start` starts; one that is used is not ended."""
    mine = _taken(start)
    try:
        yield mine.process
    finally:
        with _lock:
            mine.users -= 1
            is_last = mine is not _kept and not mine.users
        if is_last:
            mine.process.end()


def _taken(start: Callable[[], ZygoteProcess]) -> _Kept:
    global _kept
    wanted = unchangeable()
    with _lock:
        old, taken = None, _kept
        if taken is None or taken.started_with != wanted or not taken.process.is_alive():
            old, taken = taken, _Kept(start(), wanted)
            _kept = taken
        taken.users += 1
        is_unused = old is not None and not old.users
    if old is not None and is_unused:
        old.process.end()
    return taken


def pid() -> int | None:
    """The number of the zygote that is kept; None where there is none."""
    with _lock:
        return _kept.process.pid if _kept is not None else None


def end_all() -> None:
    """End what is kept, whatever it does."""
    global _kept
    with _lock:
        ended, _kept = _kept, None
    if ended is not None:
        ended.process.end()


def _forget() -> None:
    """Leave the zygote to the process that has it; this one was forked from it."""
    global _lock, _kept
    _lock = threading.Lock()
    if _kept is not None:
        _kept.process.leave()
    _kept = None


atexit.register(end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
