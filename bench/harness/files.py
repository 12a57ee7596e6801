# SPDX-License-Identifier: MIT OR Apache-2.0
"""Files that are either complete and verified, or not there."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from xyntra.errors import ModelError

__all__ = ["atomic_path", "sha256_of", "verify", "write_verified"]


@contextmanager
def atomic_path(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`, renamed to it if the body succeeds.

    On an exception the temporary file is removed, and what `path` held before stays.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent, prefix=f".{path.name}.") as folder:
        # A folder rather than a file, so that nothing an exporter writes beside its output stays.
        temporary = Path(folder) / path.name
        yield temporary
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        temporary.replace(path)


def sha256_of(data: bytes) -> str:
    """Return the SHA-256 of `data` in lower-case hexadecimal."""
    return hashlib.sha256(data).hexdigest()


def verify(data: bytes, expected: str, place: str) -> None:
    """Check `data` against a SHA-256 in hexadecimal.

    Raises:
        ModelError: `model-hash-mismatch`, naming `place`.
    """
    found = sha256_of(data)
    if found == expected:
        return
    raise ModelError(
        "model-hash-mismatch",
        "the file is not the one that was published",
        place=place,
        cause=f"its SHA-256 is {found}, not {expected}",
        hint="do not use it; download again, or compare with the package index",
    )


def write_verified(path: Path, data: bytes, expected: str, place: str) -> None:
    """Write `data` to `path` atomically, after checking its SHA-256.

    Raises:
        ModelError: `model-hash-mismatch`; `path` is left as it was.
    """
    verify(data, expected, place)
    with atomic_path(path) as temporary:
        temporary.write_bytes(data)
