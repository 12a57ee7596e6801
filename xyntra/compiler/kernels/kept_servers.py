# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps the process that has loaded the compiler of kernels for the next model of this process.

It is kept for seconds only: it shares the memory that its owner had when it was forked, and what
the owner changes since then is there twice.
"""

from __future__ import annotations

import atexit
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from xyntra.compiler.worker.fork_server import ForkServer

__all__ = ["give_back", "idle", "take"]

_MARGIN = 5.0
"""Seconds for which a server waits longer than it is asked, so that few start in vain."""
_FRESH = 15.0
"""Seconds for which a server is used again."""


@dataclass
class _Kept:
    server: ForkServer
    since: float


_kept: dict[str, _Kept] = {}
_lock = threading.Lock()


def idle() -> float:
    """Seconds at rest after which a server that is started now is to end by itself."""
    return _FRESH + _MARGIN


def take(key: str, start: Callable[[], ForkServer]) -> ForkServer:
    """The server that is kept under `key`, or a new one; nobody else has it meanwhile."""
    with _lock:
        found = _kept.pop(key, None)
    if found is not None and time.monotonic() - found.since < _FRESH and found.server.use():
        return found.server
    if found is not None:
        found.server.stop()
    return start()


def give_back(key: str, server: ForkServer) -> None:
    """Keep a server that has nothing to do."""
    server.rest()
    with _lock:
        older = _kept.get(key)
        _kept[key] = _Kept(server, time.monotonic())
    if older is not None:
        older.server.stop()


def _end_all() -> None:
    for kept in _kept.values():
        kept.server.stop()
    _kept.clear()


def _forget() -> None:
    """Leave the servers to the process that has them; this one was forked from it."""
    global _lock
    _lock = threading.Lock()
    for kept in _kept.values():
        kept.server.leave()
    _kept.clear()


atexit.register(_end_all)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget)
