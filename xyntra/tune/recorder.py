# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps what a search finds while it finds it, whatever becomes of the database."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Sequence
from pathlib import Path

from xyntra.errors import ArchiveError
from xyntra.plan.storage.files import replace_file
from xyntra.tune.database import Database
from xyntra.tune.exchange import HEAD
from xyntra.tune.records import Trial

__all__ = ["Recorder"]


class Recorder:
    """Writes to the database; what that does not take goes to a file that can be merged later.

    Args:
        path: of the database.

    Attributes:
        notes: what the user has to be told.
        best: what was found best, by kernel.
    """

    def __init__(self, path: Path) -> None:
        self.notes: list[str] = []
        self.best: dict[str, Trial] = {}
        self._pending: list[tuple[str, Trial]] = []
        self._path = path
        self._database: Database | None = None
        try:
            self._database = Database(path)
            self.notes += self._database.notes
        except ArchiveError as error:
            self._fail(error)

    def known(self, kernel: str, device: str, versions: str) -> list[Trial]:
        """Return the trials of a kernel, or of all for "", that earlier searches have kept."""
        return [] if self._database is None else self._database.trials(kernel, device, versions)

    def texts(self) -> dict[str, str]:
        """Return the texts of kernels that earlier searches have looked at, by their keys."""
        return {} if self._database is None else self._database.kernels()

    def known_best(self, device: str, versions: str) -> dict[str, Trial]:
        """Return the best schedules that earlier searches have found, by kernel."""
        found = [] if self._database is None else self._database.best(device, versions)
        return {each.kernel: each for each in found}

    def describe(self, kernel: str, text: str) -> None:
        """Keep the text of a kernel, for what learns from its trials."""
        if self._database is not None:
            try:
                self._database.add_kernels([(kernel, text)])
            except ArchiveError as error:
                self._fail(error)

    def keep(self, trials: Sequence[Trial]) -> None:
        """Keep trials."""
        self._pending += [("trial", each) for each in trials]
        self._flush()

    def keep_best(self, trial: Trial) -> None:
        """Keep the best schedules of a kernel."""
        self.best[trial.kernel] = trial
        self._pending.append(("best", trial))
        self._flush()

    def drop_best(self, kernel: str, device: str, versions: str) -> None:
        """Forget what was the best of a kernel, and is no faster than what is usual."""
        if self._database is not None:
            try:
                self._database.drop_best(kernel, device, versions)
            except ArchiveError as error:
                self._fail(error)

    def close(self) -> None:
        """Write what is left: to the database, or else to a file of its own."""
        if self._pending and self._database is None:
            try:  # what stood in the way may be gone
                self._database = Database(self._path)
            except ArchiveError:
                self._save_apart()
        self._flush()
        if self._pending:
            self._save_apart()
        if self._database is not None:
            self._database.close()

    def _flush(self) -> None:
        if self._database is None:
            return
        try:
            self._database.add(each for kind, each in self._pending if kind == "trial")
            self._database.set_best(each for kind, each in self._pending if kind == "best")
            self._pending.clear()
        except ArchiveError as error:
            self._fail(error)

    def _fail(self, error: ArchiveError) -> None:
        if self._database is not None:
            self._database.close()
            self._database = None
        self.notes.append(f"{error.message}: {error.cause} ({self._path})")

    def _save_apart(self) -> None:
        """Write what the database did not take to a file in a folder for temporary ones."""
        lines = [dict(HEAD), *({kind: each.to_json()} for kind, each in self._pending)]
        data = [json.dumps(each).encode() + b"\n" for each in lines]
        self._pending = []
        path = Path(tempfile.gettempdir()) / f"xyntra-tuned-{os.getpid()}.json"
        try:
            replace_file(path, data)
        except ArchiveError as error:
            self.notes.append(f"what was found could not be kept: {error.cause}")
            return
        self.notes.append(f"what was found is in {path}: xyntra tuned --merge {path}")
