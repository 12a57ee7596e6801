# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps trials and the best schedules of kernels in one SQLite file, for any number of processes.

The file is in WAL mode: readers never wait, and writers wait for each other. It holds schedules and
times, and no code. A file that is damaged, or of another version, is renamed and a new one begun:
what is in it can be looked at, and nothing is deleted.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import time
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from urllib.parse import quote

from xyntra.errors import ArchiveError
from xyntra.tune.records import Trial, read_schedules
from xyntra.tune.tuned import Tuned

__all__ = ["Database", "best_schedules", "tuned_devices"]

_Answer = TypeVar("_Answer")
_FORMAT = 1
_WAIT = 5.0
"""Seconds to wait for other processes that write."""
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_IOERR)
"""Errors that may be gone a moment later, whatever SQLite's extended code says of them."""
_SIDE_FILES = ("-wal", "-shm")
_DAMAGED = ("malformed", "not a database", "corrupt")
_SCHEMA = """
CREATE TABLE IF NOT EXISTS trials (
    kernel TEXT NOT NULL, device TEXT NOT NULL, versions TEXT NOT NULL, schedules TEXT NOT NULL,
    status TEXT NOT NULL, nanoseconds REAL NOT NULL, baseline REAL NOT NULL, detail TEXT NOT NULL,
    made REAL NOT NULL, PRIMARY KEY (kernel, device, versions, schedules)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS best (
    kernel TEXT NOT NULL, device TEXT NOT NULL, versions TEXT NOT NULL, schedules TEXT NOT NULL,
    nanoseconds REAL NOT NULL, baseline REAL NOT NULL, made REAL NOT NULL,
    PRIMARY KEY (kernel, device, versions)) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS kernels (kernel TEXT PRIMARY KEY, text TEXT NOT NULL) WITHOUT ROWID;
"""
_TRIAL = "kernel, device, versions, schedules, status, nanoseconds, baseline, detail, made"
_BEST = "kernel, device, versions, schedules, nanoseconds, baseline, made"
_NEWER = (
    "ON CONFLICT DO UPDATE SET schedules=excluded.schedules, nanoseconds=excluded.nanoseconds,"
    " baseline=excluded.baseline, made=excluded.made"
)


def best_schedules(path: Path, device: str, versions: str) -> dict[str, Tuned]:
    """Return the best schedules by kernel, without making or changing a file.

    Args:
        path: the database.
        device: what they were measured on.
        versions: that they are for.

    Raises:
        ArchiveError: `tuning-database`, the file cannot be read.
    """
    columns = "kernel, schedules, nanoseconds"
    query = f"SELECT {columns} FROM best WHERE device=? AND versions=?"  # noqa: S608
    rows = _read(path, query, (device, versions))
    return {kernel: Tuned(*rest) for kernel, *rest in rows if _is_sound(*rest)}


def tuned_devices(path: Path) -> set[str]:
    """Return the devices that there are schedules for; as `best_schedules`."""
    return {str(device) for (device,) in _read(path, "SELECT DISTINCT device FROM best", ())}


def _read(path: Path, query: str, values: tuple[str, ...]) -> list[tuple[Any, ...]]:
    if not path.is_file():
        return []

    def found() -> list[tuple[Any, ...]]:
        with contextlib.closing(_connect_to_read(path)) as connection:
            if connection.execute("PRAGMA user_version").fetchone()[0] != _FORMAT:
                raise _unreadable(path, "it is of another version of Xyntra")
            return connection.execute(query, values).fetchall()

    try:
        return _when_free(found)
    except sqlite3.Error as error:
        raise _unreadable(path, str(error)) from error


def _when_free(act: Callable[[], _Answer]) -> _Answer:
    """Do what needs a file that others open and close, within `_WAIT` seconds.

    SQLite waits for other writers by itself, but not where the first connection changes the file to
    WAL mode, or where the last one removes the log: others are told at once that the file is
    locked, or of an I/O error, because a file beside it vanished between two of their calls.
    """
    deadline = time.monotonic() + _WAIT
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF not in _PASSING or time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _is_sound(schedules: object, nanoseconds: object) -> bool:
    try:
        read_schedules(schedules)  # type: ignore[arg-type]
    except ValueError:
        return False
    return isinstance(nanoseconds, int | float)


def _connect_to_read(path: Path) -> sqlite3.Connection:
    """Open a file for reading; one in a folder where nothing can be written, as it is."""
    name = f"file:{quote(os.path.abspath(path))}"
    connection = sqlite3.connect(f"{name}?mode=ro", uri=True, timeout=_WAIT)
    try:
        connection.execute("SELECT 1 FROM sqlite_schema")
        return connection
    except sqlite3.OperationalError:
        connection.close()
        # Reading needs a file beside it, of what others are writing. Here nobody can write.
        if os.access(path.parent, os.W_OK):
            raise
        return sqlite3.connect(f"{name}?mode=ro&immutable=1", uri=True)


def _unreadable(path: Path, cause: str) -> ArchiveError:
    return ArchiveError(
        "tuning-database", "the tuning database cannot be read", place=str(path), cause=cause
    )


class Database:
    """The file, open for writing.

    Args:
        path: of the file, which is made where it is missing.

    Attributes:
        notes: what the user has to be told of the file, such as that a damaged one was set aside.

    Raises:
        ArchiveError: `tuning-database`, it cannot be written: it is locked or read-only, say.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.notes: list[str] = []
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._connection = _when_free(self._open)
        except (OSError, sqlite3.Error) as error:
            raise self._failed(error) from error

    def close(self) -> None:
        """Close the file."""
        self._connection.close()

    def __enter__(self) -> Database:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def add(self, trials: Iterable[Trial]) -> None:
        """Keep trials; of equal ones the newest.

        Raises:
            ArchiveError: `tuning-database`, the disk is full, say.
        """
        marks = ", ".join("?" * 9)
        self._write(
            f"INSERT INTO trials ({_TRIAL}) VALUES ({marks}) ON CONFLICT DO UPDATE SET"  # noqa: S608
            " status=excluded.status, nanoseconds=excluded.nanoseconds,"
            " baseline=excluded.baseline, detail=excluded.detail, made=excluded.made"
            " WHERE excluded.made >= made",
            [tuple(each.to_json().values()) for each in trials],
        )

    def set_best(self, trials: Iterable[Trial]) -> None:
        """Take schedules as the best of their kernels, whatever was known.

        Raises:
            ArchiveError: as `add`.
        """
        self._write(self._insert_best(_NEWER), map(_best_row, trials))

    def merge_best(self, trials: Iterable[Trial]) -> None:
        """Take schedules as the best of their kernels where they gain more than those there are.

        Times of two machines, or of two days, do not compare; the share of the baseline does.

        Raises:
            ArchiveError: as `add`.
        """
        gains = "excluded.nanoseconds * best.baseline < best.nanoseconds * excluded.baseline"
        self._write(self._insert_best(f"{_NEWER} WHERE {gains}"), map(_best_row, trials))

    def drop_best(self, kernel: str, device: str, versions: str) -> None:
        """Forget the best schedules of a kernel; its trials stay.

        Raises:
            ArchiveError: as `add`.
        """
        statement = "DELETE FROM best WHERE kernel=? AND device=? AND versions=?"
        self._write(statement, [(kernel, device, versions)])

    def add_kernels(self, texts: Iterable[tuple[str, str]]) -> None:
        """Keep the texts of kernels by their keys, for what learns from trials.

        Raises:
            ArchiveError: as `add`.
        """
        self._write("INSERT INTO kernels VALUES (?, ?) ON CONFLICT DO NOTHING", texts)

    def trials(self, kernel: str = "", device: str = "", versions: str = "") -> list[Trial]:
        """Return the trials of a kernel, a device and versions; "" stands for any."""
        return list(self._select("trials", _TRIAL, kernel, device, versions, lambda row: row))

    def best(self, device: str = "", versions: str = "") -> list[Trial]:
        """Return the best schedules that are known; "" stands for any device, or versions."""

        def row_of_trial(row: tuple[object, ...]) -> tuple[object, ...]:
            kernel, device, versions, schedules, nanoseconds, baseline, made = row
            return kernel, device, versions, schedules, "timed", nanoseconds, baseline, "", made

        return list(self._select("best", _BEST, "", device, versions, row_of_trial))

    def kernels(self) -> dict[str, str]:
        """Return the texts of kernels by their keys."""
        return dict(self._connection.execute("SELECT kernel, text FROM kernels"))

    def _select(
        self, table: str, columns: str, kernel: str, device: str, versions: str, form: object
    ) -> Iterator[Trial]:
        given = {"kernel": kernel, "device": device, "versions": versions}
        wanted = {name: text for name, text in given.items() if text}
        where = " AND ".join(f"{name}=?" for name in wanted) or "1"
        query = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY kernel, made"  # noqa: S608
        names = [each.strip() for each in _TRIAL.split(",")]
        for row in self._connection.execute(query, tuple(wanted.values())):
            with contextlib.suppress(ValueError):
                values = form(row)  # type: ignore[operator]
                yield Trial.from_json(dict(zip(names, values, strict=True)))

    @staticmethod
    def _insert_best(conflict: str) -> str:
        return f"INSERT INTO best ({_BEST}) VALUES (?, ?, ?, ?, ?, ?, ?) {conflict}"  # noqa: S608

    def _write(self, statement: str, rows: Iterable[tuple[object, ...]]) -> None:
        try:
            with self._connection:
                self._connection.executemany(statement, list(rows))
        except sqlite3.Error as error:
            raise self._failed(error) from error

    def _open(self) -> sqlite3.Connection:
        """Open the file; one that cannot be used as a database is set aside first."""
        seen = _identity(self.path)
        try:
            return self._connected()
        except sqlite3.DatabaseError as error:
            if not any(word in str(error) for word in _DAMAGED):
                raise
            self._set_aside(seen, "damaged", f"was damaged ({error})")
        except _OtherVersion as error:
            self._set_aside(seen, f"version-{error}", f"is of another version ({error})")
        return self._connected()

    def _connected(self) -> sqlite3.Connection:
        connection = sqlite3.connect(self.path, timeout=_WAIT)
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            connection.execute("PRAGMA synchronous=NORMAL")
            found = connection.execute("PRAGMA quick_check(1)").fetchone()[0]
            if found != "ok":
                raise sqlite3.DatabaseError(f"malformed: {found}")
            # Who opens a new file sees all of its tables or none, and its version with them. That a
            # file can be written is found now, not after a search.
            connection.execute("BEGIN IMMEDIATE")
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            tables = connection.execute("SELECT count(*) FROM sqlite_schema").fetchone()[0]
            if version != _FORMAT and (version or tables):
                raise _OtherVersion(version)
            for statement in _SCHEMA.split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version={_FORMAT}")
            connection.commit()
            return connection
        except BaseException:
            connection.close()
            raise

    def _set_aside(self, seen: tuple[int, int] | None, suffix: str, reason: str) -> None:
        """Rename the file with those beside it; nothing of it is deleted.

        Where it is not the one that was `seen`, another process has been faster.
        """
        if _identity(self.path) != seen:
            return
        stamp = time.strftime("%Y%m%d-%H%M%S")
        target = self.path.with_name(f"{self.path.name}.{suffix}-{stamp}-{os.getpid()}")
        os.rename(self.path, target)
        for side in _SIDE_FILES:
            with contextlib.suppress(FileNotFoundError):
                os.rename(f"{self.path}{side}", f"{target}{side}")
        self.notes.append(f"the tuning database {reason}: it was set aside as {target}")

    def _failed(self, error: Exception) -> ArchiveError:
        return ArchiveError(
            "tuning-database",
            "the tuning database cannot be written",
            place=str(self.path),
            cause=str(error),
            hint="another file: XYNTRA_TUNING_DATABASE",
        )


def _identity(path: Path) -> tuple[int, int] | None:
    """Return what tells a file from another one of its name; None where there is none."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


class _OtherVersion(Exception):
    """The file is a database of another version, or of another program."""


def _best_row(trial: Trial) -> tuple[object, ...]:
    times = trial.nanoseconds, trial.baseline, trial.made
    return trial.kernel, trial.device, trial.versions, trial.schedules, *times
