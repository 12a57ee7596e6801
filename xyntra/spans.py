# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records how long the parts of compiling and running take, over all processes, while asked to.

A span is one interval of one thread. Processes that compile append theirs, a line of JSON each, to
a file that an environment variable names; the process that records keeps its own in memory. Times
are nanoseconds of the system's monotonic clock, which all processes share. Where nothing is
recorded, `span` costs one look at the environment, and a call of an executable one test.
"""

from __future__ import annotations

import contextlib
import json
import os
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

__all__ = ["Recording", "calls_recorded", "recording", "span"]

_VARIABLE = "_XYNTRA_SPANS"
_MOST_BYTES = 1 << 28
"""Of the file of other processes' spans, and about what the own ones may take: what is later is
left out, so that a program that records for hours does not fill its disk."""
_MOST_SPANS = 1 << 20


@dataclass
class Recording:
    """The spans of this process, and the file of those of the processes that it starts.

    Attributes:
        file: of the others' spans.
        own: dictionaries as `span` makes them.
        left_out: how many spans there were no room for.
    """

    file: Path
    own: list[dict[str, Any]]
    left_out: int = 0

    def spans(self) -> list[dict[str, Any]]:
        """Return all spans so far, the earliest first.

        Each has `name`, `kind`, `start` and `end` (nanoseconds), `process`, `thread` and `details`.
        """
        lines = self.file.read_text("utf-8").splitlines() if self.file.exists() else []
        found = list(self.own)
        for line in lines:
            with contextlib.suppress(ValueError):  # cut short: its process was killed
                found.append(json.loads(line))
        return sorted(found, key=lambda each: (each["start"], -each["end"]))

    def add(self, found: dict[str, Any]) -> None:
        """Keep a span of this process."""
        if len(self.own) < _MOST_SPANS:
            self.own.append(found)
        else:
            self.left_out += 1


_running: Recording | None = None
_owner = 0


def calls_recorded() -> bool:
    """Tell whether this process records, and calls of executables are to have a span."""
    return _running is not None


@contextlib.contextmanager
def recording(file: Path) -> Iterator[Recording]:
    """Record spans of this process and of those that it starts.

    Args:
        file: for the spans of others; it must not be in use by another recording.

    Raises:
        RuntimeError: this process records already.
    """
    global _running, _owner
    if _running is not None:
        raise RuntimeError("spans are recorded already")
    _running, _owner = Recording(file, []), os.getpid()
    os.environ[_VARIABLE] = str(file)
    try:
        yield _running
    finally:
        _running = None
        os.environ.pop(_VARIABLE, None)


class _Span:
    __slots__ = ("_details", "_kind", "_name", "_start")

    def __init__(self, name: str, kind: str, details: dict[str, Any]) -> None:
        self._name, self._kind, self._details = name, kind, details
        self._start = 0

    def __enter__(self) -> None:
        self._start = time.perf_counter_ns()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        end = time.perf_counter_ns()
        if error is not None:
            self._details["error"] = f"{type(error).__name__}: {error}"[:200]
        found = {
            "name": self._name,
            "kind": self._kind,
            "start": self._start,
            "end": end,
            "process": os.getpid(),
            "thread": threading.get_native_id(),
            "details": self._details,
        }
        if _running is not None and os.getpid() == _owner:
            _running.add(found)
        else:
            _append(found)


class _Nothing:
    """Stands for a span where nothing is recorded."""

    __slots__ = ()

    def __enter__(self) -> None: ...

    def __exit__(self, *_: object) -> None: ...


_NOTHING = _Nothing()


def span(name: str, kind: str, **details: Any) -> _Span | _Nothing:
    """Return a context whose duration is recorded, if anything is.

    Args:
        name: what goes on in it.
        kind: "compile", "pass", "kernel" or "call", which a trace can be filtered by.
        details: shown with the span; JSON-ready.
    """
    return _Span(name, kind, details) if _VARIABLE in os.environ else _NOTHING


def _append(found: dict[str, Any]) -> None:
    """Write a span with one call, so that lines of several processes do not mix.

    The file is opened each time: a forked process may have lost the number of an open one.
    """
    line = json.dumps(found).encode() + b"\n"
    # The process that records may have ended, and its folder with it.
    with contextlib.suppress(OSError):
        file = os.open(os.environ.get(_VARIABLE, ""), os.O_WRONLY | os.O_APPEND)
        try:
            if os.fstat(file).st_size < _MOST_BYTES:
                os.write(file, line)
        finally:
            os.close(file)
