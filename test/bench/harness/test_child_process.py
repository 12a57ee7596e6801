# SPDX-License-Identifier: MIT OR Apache-2.0
"""A child process answers, and its errors, crashes and silence come back as such."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from bench.harness.child_process import Child, ChildError

PROGRAM = """\
import os, time

def make(job):
    if job.get("refuse"):
        raise KeyError("refused")

    def answer(message):
        if message == "raise":
            raise ZeroDivisionError("by hand")
        if message == "exit":
            os._exit(3)
        if message == "hang":
            time.sleep(60)
        return [job["base"], message]

    return answer
"""


@pytest.fixture
def make(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., Any]]:
    (tmp_path / "answering_program.py").write_text(PROGRAM)
    monkeypatch.syspath_prepend(str(tmp_path))
    import answering_program  # type: ignore[import-not-found]

    yield answering_program.make
    del sys.modules["answering_program"]


def start(make: Callable[..., Any], **job: object) -> Child:
    values: Mapping[str, Any] = {"base": 7, **job}
    return Child(make, values, seconds=60.0)


def failure(child: Child, message: str, seconds: float = 60.0) -> ChildError:
    with pytest.raises(ChildError) as failed:
        child.ask(message, seconds)
    return failed.value


def test_messages_are_answered_also_after_an_exception(make: Callable[..., Any]) -> None:
    child = start(make)
    assert child.ask("a", 60.0) == [7, "a"]
    error = failure(child, "raise")
    assert error.kind == "exception"
    assert error.detail.splitlines()[-1] == "ZeroDivisionError: by hand"
    assert child.ask(None, 60.0) == [7, None]
    child.end()


def test_a_crash_has_its_status_and_what_follows_is_a_crash_too(make: Callable[..., Any]) -> None:
    child = start(make)
    for message in ("exit", "a"):
        error = failure(child, message)
        assert (error.kind, error.detail) == ("crash", "exit status 3")
    child.end()


def test_silence_ends_after_its_time(make: Callable[..., Any]) -> None:
    child = start(make)
    begin = time.monotonic()
    assert failure(child, "hang", seconds=0.2).kind == "hang"
    assert time.monotonic() - begin < 30
    child.end()


def test_what_cannot_start_says_why(make: Callable[..., Any]) -> None:
    with pytest.raises(ChildError, match="refused") as failed:
        start(make, refuse=True)
    assert failed.value.kind == "exception"


def test_a_stopped_process_answers_when_it_may_run_again(make: Callable[..., Any]) -> None:
    child = start(make)
    child.stop()
    assert failure(child, "a", seconds=0.3).kind == "hang"
    child.go()
    assert child.ask("b", 60.0) == [7, "a"]
    child.stop()
    child.end()


def test_the_path_is_as_it_was(make: Callable[..., Any]) -> None:
    before = list(sys.path)
    start(make).end()
    assert sys.path == before
