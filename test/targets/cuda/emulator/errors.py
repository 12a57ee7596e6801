# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the errors of programs that do something that they must not do."""

from __future__ import annotations

__all__ = ["EmulatorError", "require"]


class EmulatorError(Exception):
    """The program is wrong; the message says what it did, and the instruction is added."""


def require(condition: object, message: str) -> None:
    """Raise unless `condition` holds.

    Raises:
        EmulatorError: it does not.
    """
    if not condition:
        raise EmulatorError(message)
