# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes files so that nobody ever sees half of one."""

from __future__ import annotations

import errno
import os
import stat
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import BinaryIO

from xyntra.errors import ArchiveError


def replace_file(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write `parts` to a file beside `path`, then rename it to `path`.

    A symbolic link stays, and its target is replaced. What is no regular file (a device, a pipe) is
    written to as it is.

    Raises:
        ArchiveError: the file cannot be written; `path` is as it was.
    """
    target = Path(path)
    temporary = None
    try:
        if _is_special(target):
            _write_through(target, parts)
            return
        target = Path(os.path.realpath(target))
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = file.name
            for part in parts:
                file.write(part)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except (OSError, ValueError) as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise ArchiveError(
            "write-failed", "the file cannot be written", place=str(path), cause=cause
        ) from None


def open_regular(path: str | os.PathLike[str]) -> BinaryIO:
    """Open a regular file for reading; a pipe, from which nothing may ever come, is none.

    Raises:
        OSError: it cannot be opened, or is no regular file.
    """
    flags = os.O_RDONLY | getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
    # Opening a pipe would wait for somebody who writes.
    descriptor = os.open(path, flags | getattr(os, "O_NONBLOCK", 0))
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "it is not a regular file", os.fspath(path))
    return os.fdopen(descriptor, "rb")


def _is_special(path: Path) -> bool:
    """Whether `path` is there and neither a regular file nor a folder, or names a descriptor."""
    try:
        mode = os.stat(path).st_mode
    except FileNotFoundError:
        return False
    is_descriptor = os.path.islink(path) and path.parts[:2] in ((os.sep, "dev"), (os.sep, "proc"))
    return is_descriptor or not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def _write_through(path: Path, parts: Iterable[bytes | memoryview]) -> None:
    """Write to a device or pipe; one that nobody reads from gives an error at once."""
    nonblocking = getattr(os, "O_NONBLOCK", 0)
    descriptor = os.open(path, os.O_WRONLY | getattr(os, "O_CLOEXEC", 0) | nonblocking)
    with os.fdopen(descriptor, "wb", buffering=0) as file:
        if nonblocking:
            os.set_blocking(descriptor, True)
        for part in parts:
            rest = memoryview(part)
            while rest:
                rest = rest[file.write(rest) :]


def make_folder(path: str | os.PathLike[str]) -> None:
    """Make a folder and its parents, where they are not there.

    Raises:
        ArchiveError: it cannot be made.
    """
    try:
        os.makedirs(path, exist_ok=True)
    except OSError as error:
        raise ArchiveError(
            "write-failed",
            "the folder cannot be made",
            place=os.fspath(path),
            cause=error.strerror,
        ) from None


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask
