# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes files so that nobody ever sees half of one."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from xyntra.errors import ArchiveError


def replace_file(path: str | os.PathLike[str], parts: Iterable[bytes | memoryview]) -> None:
    """Write `parts` to a file beside `path`, then rename it to `path`.

    Raises:
        ArchiveError: the file cannot be written; `path` is as it was.
    """
    target = Path(path)
    temporary = None
    try:
        with tempfile.NamedTemporaryFile(
            dir=target.parent, prefix=f".{target.name}.", delete=False
        ) as file:
            temporary = file.name
            for part in parts:
                file.write(part)
        os.chmod(temporary, 0o666 & ~_umask())
        os.replace(temporary, target)
    except OSError as error:
        if temporary is not None:
            with suppress(OSError):
                os.unlink(temporary)
        raise ArchiveError(
            "write-failed", "the file cannot be written", place=str(target), cause=error.strerror
        ) from None


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
