# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the line of the user's program that recorded an operation, for errors about it."""

from __future__ import annotations

import os
import sys

__all__ = ["user_place"]

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep


def user_place() -> str | None:
    """Return the file and the line that called into this package, as `file:line`."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code.co_filename.startswith(_OWN):
        if frame.f_back is None:
            return None
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"
