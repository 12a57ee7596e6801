# SPDX-License-Identifier: MIT OR Apache-2.0
"""One thread at a time compiles in this process: the libraries below are not made for several."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["in_process"]

_lock = threading.Lock()


@contextmanager
def in_process() -> Iterator[None]:
    """Wait until no other thread compiles in this process."""
    with _lock:
        yield


def _renew() -> None:
    """In a child, the thread that held the lock is not there to release it."""
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
