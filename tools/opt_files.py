# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and writes the files of `xyntra-opt`."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator
from contextlib import suppress

from xyntra.errors import CompileError

__all__ = ["BYTECODE", "Chunk", "read_input", "split_input", "write_output"]

BYTECODE = b"ML\xefR"
_SEPARATOR = re.compile(r"^// -----[^\n]*\n?", re.MULTILINE)

Chunk = str | bytes
"""A module: text, or bytecode."""


def read_input(name: str) -> Chunk:
    """Return the text or bytecode in the file `name`, or on the standard input for "-".

    Raises:
        CompileError: the file cannot be read, or is neither bytecode nor UTF-8.
    """
    try:
        data = sys.stdin.buffer.read() if name == "-" else _read(name)
    except OSError as error:
        raise CompileError("unreadable-input", f"{name}: {error.strerror}") from error
    if data.startswith(BYTECODE):
        return data
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        raise CompileError(
            "unreadable-input", f"{name} is neither text in UTF-8 nor MLIR bytecode"
        ) from error


def split_input(data: Chunk) -> list[Chunk]:
    """Return the parts of `data` between lines that start with `// -----`.

    Every part is preceded by as many empty lines as keep its line numbers those of the file.
    Bytecode is one part.
    """
    return [data] if isinstance(data, bytes) else list(_parts(data))


def _parts(text: str) -> Iterator[str]:
    start = 0
    for separator in _SEPARATOR.finditer(text):
        yield "\n" * text.count("\n", 0, start) + text[start : separator.start()]
        start = separator.end()
    yield "\n" * text.count("\n", 0, start) + text[start:]


def write_output(name: str, text: str) -> None:
    """Write `text` to the file `name`, all of it or nothing, or to the standard output for "-".

    Raises:
        CompileError: the file cannot be written.
    """
    if name == "-":
        sys.stdout.write(text)
        return
    try:
        if os.path.exists(name) and not os.path.isfile(name):
            _write(name, text)
        else:
            _replace(name, text)
    except OSError as error:
        raise CompileError("unwritable-output", f"{name}: {error.strerror}") from error


def _replace(path: str, text: str) -> None:
    folder, name = os.path.split(path)
    beside = os.path.join(folder, f".{name}.{os.getpid()}")
    try:
        _write(beside, text)
        os.replace(beside, path)
    except OSError:
        with suppress(OSError):
            os.unlink(beside)
        raise


def _read(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def _write(path: str, text: str) -> None:
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
