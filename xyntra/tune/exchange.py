# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes what a tuning database holds to a file that a team can share, and merges such files."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from xyntra.errors import ArchiveError
from xyntra.plan.storage.files import open_regular, replace_file
from xyntra.tune.database import Database
from xyntra.tune.records import Trial

__all__ = ["HEAD", "Counts", "export_records", "import_records"]

HEAD = {"format": "xyntra tuning", "version": 1}
_MOST_BYTES = 1 << 30
_MOST_LINE = 1 << 20
_SQLITE = b"SQLite format 3\0"
Counts = dict[str, int]


def export_records(database: Database, path: Path) -> Counts:
    """Write all records of a database as lines of JSON; returns how many there are of each kind.

    Raises:
        ArchiveError: the file cannot be written.
    """
    found = {"trial": database.trials(), "best": database.best()}
    texts = database.kernels()
    lines: list[dict[str, Any]] = [dict(HEAD)]
    lines += [{"kernel": key, "text": text} for key, text in texts.items()]
    lines += [{kind: each.to_json()} for kind, trials in found.items() for each in trials]
    replace_file(path, [json.dumps(each, sort_keys=True).encode() + b"\n" for each in lines])
    return {**{kind: len(each) for kind, each in found.items()}, "kernel": len(texts)}


def import_records(database: Database, path: Path) -> Counts:
    """Merge the records of a file, an export or another database, into a database.

    Of equal trials the newer is kept; of the best schedules of a kernel those that gain more.

    Raises:
        ArchiveError: the file cannot be read, or is something else; nothing is merged then.
    """
    try:
        with open_regular(path) as file:
            is_database = file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise _invalid(path, error.strerror or str(error)) from None
    if is_database:
        with Database(path) as other:
            trials, best, texts = other.trials(), other.best(), other.kernels()
    else:
        trials, best, texts = _read(path)
    database.add_kernels(texts.items())
    database.add(trials)
    database.merge_best(best)
    return {"trial": len(trials), "best": len(best), "kernel": len(texts)}


def _read(path: Path) -> tuple[list[Trial], list[Trial], dict[str, str]]:
    trials: list[Trial] = []
    best: list[Trial] = []
    texts: dict[str, str] = {}
    lines = _lines(path)
    number, head = next(lines, (1, {}))
    if {name: head.get(name) for name in HEAD} != HEAD:
        raise _invalid(path, "its first line is not that of an export of this version")
    for number, entry in lines:
        try:
            if "trial" in entry:
                trials.append(Trial.from_json(entry["trial"]))
            elif "best" in entry:
                best.append(Trial.from_json(entry["best"]))
            else:
                texts[str(entry["kernel"])] = str(entry["text"])
        except (KeyError, TypeError, ValueError) as error:
            raise _invalid(path, f"line {number}: {error}") from None
    return trials, best, texts


def _lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    with open_regular(path) as file:
        read = 0
        for number, line in enumerate(iter(lambda: file.readline(_MOST_LINE), b""), 1):
            read += len(line)
            if read > _MOST_BYTES or (len(line) == _MOST_LINE and not line.endswith(b"\n")):
                raise _invalid(path, f"line {number} is too long, or the file too large")
            try:
                entry = json.loads(line)
            except (ValueError, RecursionError):
                raise _invalid(path, f"line {number} is no JSON") from None
            if not isinstance(entry, dict):
                raise _invalid(path, f"line {number} is no table")
            yield number, entry


def _invalid(path: Path, cause: str) -> ArchiveError:
    return ArchiveError(
        "tuning-file", "the file holds no tuning records", place=str(path), cause=cause
    )
