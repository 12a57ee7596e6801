# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and writes messages that are framed by their length."""

from __future__ import annotations

import os
import struct

__all__ = ["framed", "read_frame", "whole_frame", "write_frame"]

_LENGTH = struct.Struct("<Q")


def framed(data: bytes) -> bytes:
    """Return a message as it is sent."""
    return _LENGTH.pack(len(data)) + data


def read_frame(file: int) -> bytes | None:
    """Read one message from a file descriptor that blocks; None at its end."""
    head = _read(file, _LENGTH.size)
    return None if head is None else _read(file, _LENGTH.unpack(head)[0])


def write_frame(file: int, data: bytes) -> None:
    """Write one message to a file descriptor that blocks."""
    rest = memoryview(framed(data))
    while rest:
        rest = rest[os.write(file, rest) :]


def whole_frame(data: bytes | bytearray) -> bytes | None:
    """Return the message that `data` begins with, once it is complete."""
    if len(data) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    return bytes(data[_LENGTH.size : end]) if len(data) >= end else None


def _read(file: int, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        part = os.read(file, min(count - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)
