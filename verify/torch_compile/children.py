# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that compare one model each, and wait to be told when to time it.

A process writes files into a folder of its own: what it found, the times of a step beside eager
PyTorch, what became of the other compiler, and later the times of all in turns. Each is there
before the next begins, which may take longer than there is time. A GPU takes no fork of a process
that has used one, so that each begins anew.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

__all__ = ["STAGES", "TAIL", "Answers", "Child"]

Row = dict[str, Any]
TAIL = 2500
"""Characters of a message that are kept."""
_GO, _MEASURED = "go", "measured"
STAGES = ("compared", "stepped", "prepared")
"""What a process answers by itself, in order; all but the first where times are wanted."""
_PAUSE = 0.05


class Answers:
    """The side of the process.

    Args:
        folder: for files.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def of(self, stage: str, row: Row) -> None:
        """Hand over what a stage found."""
        _write(self._folder / f"{stage}.json", row)

    def wait(self) -> None:
        """Wait until times are wanted."""
        while not (self._folder / _GO).exists():
            time.sleep(_PAUSE)

    def measured(self, row: Row) -> None:
        """Hand over the times."""
        self.of(_MEASURED, row)


class Child:
    """The side of whoever starts the process.

    Args:
        command: that takes `--json FOLDER`.
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._room = tempfile.TemporaryDirectory()
        self._folder = Path(self._room.name)
        with (self._folder / "log").open("wb") as log:
            self._process = subprocess.Popen(
                [*command, "--json", self._room.name],
                stdout=log,
                stderr=log,
                start_new_session=True,
            )

    def answer(self, stage: str, seconds: float) -> Row:
        """Return what a stage finds; "error" says so where there is no answer in time."""
        row = self._answer(stage, seconds)
        if stage == STAGES[0] or "error" not in row:
            return row
        return {"not_timed": f"{stage}: {row['status']}"}

    def measured(self, seconds: float) -> Row:
        """Let the process time its model, return the times, and end it."""
        (self._folder / _GO).touch()
        row = self._answer(_MEASURED, seconds)
        self.end()
        return {"not_timed": row["status"]} if "error" in row else row

    def end(self) -> None:
        """End the process, and what it has started."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._room.cleanup()

    def _answer(self, name: str, seconds: float) -> Row:
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            ended = self._process.poll() is not None
            path = self._folder / f"{name}.json"
            if path.exists():
                row: Row = json.loads(path.read_text(encoding="utf-8"))
                return row
            if ended:
                status = self._process.returncode
                return {"status": "crash", "error": f"status {status}: {self._log()}"}
            time.sleep(_PAUSE)
        return {"status": "hang", "error": f"after {seconds:.0f} s: {self._log()}"}

    def _log(self) -> str:
        return (self._folder / "log").read_text(encoding="utf-8", errors="replace")[-TAIL:]


def _write(path: Path, row: Row) -> None:
    """Write a file that is there as a whole, or not at all."""
    part = path.with_suffix(".part")
    part.write_text(json.dumps(row), encoding="utf-8")
    part.replace(path)
