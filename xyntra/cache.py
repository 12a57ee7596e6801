# SPDX-License-Identifier: MIT OR Apache-2.0
"""A content-addressed cache on disk that may be lost, damaged or shared at any moment.

Layout below the root: `v1/<2 hex digits>/<62 hex digits>`, one entry a file: a header of 64 bytes
(magic, version, length and SHA-256 of key and data), then the data. `v1/journal` holds one byte
for each 64 KiB written, so that its size tells every process, for one `stat`, when to look for
entries to evict.
"""

from __future__ import annotations

import contextlib
import hashlib
import mmap
import os
import re
import struct
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, TypeVar

from .errors import CacheError

_HEADER = struct.Struct("<8sIQ32s12x")
_MAGIC = b"XYNCACHE"
_VERSION = 1
_KEY = re.compile(r"[0-9a-f]{64}")
_JOURNAL = "journal"
_JOURNAL_UNIT = 64 << 10
_TEMPORARY = ".new-"
_ABANDONED_SECONDS = 3600.0
_KEEP_PERCENT = 80

_Loaded = TypeVar("_Loaded", bytes, memoryview)


class CacheWarning(UserWarning):
    """The cache cannot be used; everything works without it, but compiles again."""


def cache_key(*parts: bytes | str) -> str:
    """Return 64 hex digits that identify `parts`: their kinds, lengths and contents (SHA-256)."""
    digest = hashlib.sha256()
    for part in parts:
        tag = b"s" if isinstance(part, str) else b"b"
        data = part.encode("utf-8", "surrogatepass") if isinstance(part, str) else part
        digest.update(tag + struct.pack("<Q", len(data)))
        digest.update(data)
    return digest.hexdigest()


class DiskCache:
    """Byte strings by key, kept in a folder, the least recently used removed first.

    Any number of processes and threads may use one folder. Entries appear whole or not at all;
    a damaged one counts as absent and is removed. No trouble with the folder reaches the caller
    as an error: the first gives one CacheWarning, then reading, or writing, stops.

    The folder holds native code that will run, so one that another user owns, or that everybody
    may write to, is not used.

    Args:
        root: the folder; made at the first `put`.
        max_bytes: what the entries may occupy together; larger data is not kept.
    """

    def __init__(self, root: str | os.PathLike[str], max_bytes: int) -> None:
        self.root = Path(root)
        self.max_bytes = max_bytes
        self._folder = self.root / f"v{_VERSION}"
        self._trusted = False
        self._readable = True
        self._writable = True

    def get(self, key: str) -> bytes | None:
        """Return the data stored under `key`, or None.

        Raises:
            CacheError: `key` is not one of `cache_key`.
        """
        return self._fetch(key, _contents)

    def map(self, key: str) -> memoryview | None:
        """Return a read-only view of the data stored under `key`, or None.

        The view maps the file: it starts on a multiple of 64 bytes, and stays valid after the
        entry is evicted or replaced.

        Raises:
            CacheError: `key` is not one of `cache_key`.
        """
        return self._fetch(key, _mapping)

    def put(self, key: str, data: bytes | bytearray | memoryview) -> None:
        """Store `data` (contiguous bytes) under `key`, replacing what is there.

        Raises:
            CacheError: `key` is not one of `cache_key`.
        """
        path = self._path(key)
        view = memoryview(data).cast("B")
        if not self._writable or _HEADER.size + len(view) > self.max_bytes:
            return
        try:
            try:
                self._store(path, key, view)
            except FileNotFoundError:  # somebody removed the folder in between
                self._store(path, key, view)
        except OSError as error:
            self._stop(f"cannot be written: {error}")

    def _fetch(self, key: str, load: Callable[[BinaryIO], _Loaded]) -> _Loaded | None:
        path = self._path(key)
        if not self._readable:
            return None
        try:
            if not self._is_trusted():
                return None
            data = _read(path, key, load)
        except FileNotFoundError:
            return None
        except OSError as error:
            self._stop(f"cannot be read: {error}", reading=True)
            return None
        # On a read-only disk neither works, and neither is needed.
        with contextlib.suppress(OSError):
            path.unlink(missing_ok=True) if data is None else os.utime(path)
        return data

    def _store(self, path: Path, key: str, data: memoryview) -> None:
        _make_private(self._folder)
        if not self._is_trusted():
            return
        _write(path, _header(key, data), data)
        if self._journal(_HEADER.size + len(data)) > self.max_bytes:
            self._evict(keep=path)

    def _path(self, key: str) -> Path:
        if not _KEY.fullmatch(key):
            raise CacheError("cache-key", f"a cache key has 64 hex digits, unlike {key!r}")
        return self._folder / key[:2] / key[2:]

    def _stop(self, reason: str, *, reading: bool = False) -> None:
        first = self._readable and self._writable
        self._writable = False
        if reading:
            self._readable = False
        if first:
            warnings.warn(CacheWarning(f"the cache in {self.root} {reason}"), stacklevel=3)

    def _is_trusted(self) -> bool:
        if self._trusted or not hasattr(os, "geteuid"):
            return True
        info = os.stat(self._folder)
        if info.st_uid not in (os.geteuid(), 0):
            self._stop(f"belongs to another user (id {info.st_uid}) and is not used", reading=True)
        elif info.st_mode & 0o002:
            self._stop("can be written by every user and is not used", reading=True)
        else:
            self._trusted = True
        return self._trusted

    def _journal(self, occupied: int) -> int:
        """Note that `occupied` bytes were written; return the estimate of all bytes."""
        with open(self._folder / _JOURNAL, "ab") as file:
            file.write(_journal_entry(occupied))
            return file.tell() * _JOURNAL_UNIT

    def _evict(self, keep: Path) -> None:
        entries = sorted(_entries(self._folder), key=lambda entry: entry.used)
        total = sum(entry.size for entry in entries)
        if total > self.max_bytes:
            goal = self.max_bytes * _KEEP_PERCENT // 100
            for entry in entries:
                if total <= goal:
                    break
                if entry.path != keep:
                    entry.path.unlink(missing_ok=True)
                    total -= entry.size
        _write(self._folder / _JOURNAL, b"", _journal_entry(total))


class _Entry(NamedTuple):
    path: Path
    size: int
    used: float


def _journal_entry(size: int) -> bytes:
    return bytes(-(-size // _JOURNAL_UNIT))


def _header(key: str, data: bytes | memoryview) -> bytes:
    # The key is part of the checksum, so that a file under a wrong name is not taken for another.
    digest = hashlib.sha256(bytes.fromhex(key))
    digest.update(data)
    return _HEADER.pack(_MAGIC, _VERSION, len(data), digest.digest())


def _read(path: Path, key: str, load: Callable[[BinaryIO], _Loaded]) -> _Loaded | None:
    """Return the data of an entry, or None where it is damaged."""
    with open(path, "rb") as file:
        header = file.read(_HEADER.size)
        if len(header) < _HEADER.size:
            return None
        data = load(file)
    return data if header == _header(key, data) else None


def _contents(file: BinaryIO) -> bytes:
    return file.read()


def _mapping(file: BinaryIO) -> memoryview:
    return memoryview(mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ))[_HEADER.size :]


def _write(path: Path, header: bytes, data: bytes | memoryview) -> None:
    path.parent.mkdir(exist_ok=True)
    descriptor, temporary = tempfile.mkstemp(prefix=_TEMPORARY, dir=path.parent)
    try:
        with open(descriptor, "wb") as file:
            file.write(header)
            file.write(data)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _make_private(folder: Path) -> None:
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)


def _entries(folder: Path) -> Iterator[_Entry]:
    """Yield every entry, removing what interrupted writers left."""
    for file in _files(folder):
        with contextlib.suppress(FileNotFoundError):
            info = file.stat()
            if not file.name.startswith(_TEMPORARY):
                yield _Entry(Path(file.path), info.st_size, info.st_mtime)
            elif time.time() - info.st_mtime > _ABANDONED_SECONDS:
                os.unlink(file.path)


def _files(folder: Path) -> list[os.DirEntry[str]]:
    files: list[os.DirEntry[str]] = []
    with os.scandir(folder) as shards:
        for shard in shards:
            if shard.is_dir():
                with contextlib.suppress(FileNotFoundError), os.scandir(shard) as inside:
                    files.extend(inside)
    return files
