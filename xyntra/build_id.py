# SPDX-License-Identifier: MIT OR Apache-2.0
"""Identifies the compiler itself, so that what another version cached is not used."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from functools import cache

from xyntra.version import VERSION

_FOLDERS = ("xyntra", "xyntra.dialects", "xyntra.passes")


@cache
def build_id() -> str:
    """A digest of the compiler's source files by name, size and modification time.

    An edited checkout must not use what it compiled before the edit.
    """
    digest = hashlib.sha256(VERSION.encode())
    for folder in _folders():
        for entry in sorted(_sources(folder), key=lambda entry: entry.path):
            info = entry.stat()
            relative = entry.path[len(folder) :]
            digest.update(f"{relative}\0{info.st_size}\0{info.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def _folders() -> Iterator[str]:
    from importlib import import_module

    for name in _FOLDERS:
        yield import_module(name).__path__[0]


def _sources(folder: str) -> Iterator[os.DirEntry[str]]:
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False) and entry.name != "__pycache__":
                yield from _sources(entry.path)
            elif entry.name.endswith(".py"):
                yield entry
