# SPDX-License-Identifier: MIT OR Apache-2.0
"""Marks on standard error that say which pass a worker process was at when it died.

A crash in a library leaves no other trace. The worker writes a mark before every pass, and its
caller takes the marks out of what the worker has written.
"""

from __future__ import annotations

import os
import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from xyntra.dialects.mlir import ir

__all__ = ["PassMarker", "last_pass", "mark_passes", "markers", "without_marks"]

_MARK = re.compile(r"\x1epass (.*)\x1e\n")
_enabled = False


class PassMarker:
    """A hook that writes the mark of each pass that begins."""

    def before(self, name: str, module: ir.Operation) -> None:
        """Write the mark."""
        os.write(2, f"\x1epass {name}\x1e\n".encode())

    def after(self, name: str, module: ir.Operation) -> None:
        """Write that no pass runs."""
        os.write(2, b"\x1epass \x1e\n")

    def failed(self, name: str, module: ir.Operation) -> None:
        """As `after`."""
        self.after(name, module)


def mark_passes() -> None:
    """Let `markers` return a marker: this process is a worker."""
    global _enabled
    _enabled = True


def markers() -> tuple[PassMarker, ...]:
    """Return the hooks to run passes with."""
    return (PassMarker(),) if _enabled else ()


def last_pass(messages: str) -> str:
    """Return the pass that the last mark in `messages` names, "" where none was running."""
    found = _MARK.findall(messages)
    return found[-1] if found else ""


def without_marks(messages: str) -> str:
    """Return `messages` without marks."""
    return _MARK.sub("", messages)
