# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process that answers messages, and that one of them may end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any

from bench.harness.measure import ROOT

__all__ = ["START_SECONDS", "Child", "ChildError", "Maker"]

START_SECONDS = 120.0
_END_SECONDS = 2.0
_TRACEBACK_DEPTH = -4
_path_lock = threading.Lock()

Maker = Callable[[Mapping[str, Any]], Callable[[Any], Any]]
"""Called in the new process with the job; what it returns answers one message after another."""


class ChildError(Exception):
    """A message has no answer.

    Attributes:
        kind: "crash": the process has ended; "hang": it did not answer in time; "exception".
        detail: the exit status, the time, or the end of the traceback.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class Child:
    """A process of its own that answers messages.

    Args:
        make: a function at the top of a module; see `Maker`.
        job: its argument.
        seconds: how long it may take.

    Raises:
        ChildError: it raised, crashed, or took too long.
    """

    def __init__(
        self, make: Maker, job: Mapping[str, Any], *, seconds: float = START_SECONDS
    ) -> None:
        context = multiprocessing.get_context("spawn")
        self._connection, other = context.Pipe()
        arguments = (other, make, dict(job))
        self._process = context.Process(target=_serve, args=arguments, daemon=True)
        with _installed_first():
            self._process.start()
        other.close()
        try:
            self._answer(seconds)
        except BaseException:
            self.end()
            raise

    @property
    def pid(self) -> int | None:
        """The process's number."""
        return self._process.pid

    def ask(self, message: Any, seconds: float) -> Any:
        """Return the answer to a message.

        Raises:
            ChildError: there is none within `seconds`. After "crash" and "hang", only `end` is
                left to call.
        """
        try:
            self._connection.send(message)
        except ConnectionError:
            raise self._crash() from None
        return self._answer(seconds)

    def stop(self) -> None:
        """Give the process no processor time until `go`, not even to threads that spin."""
        self._signal(signal.SIGSTOP)

    def go(self) -> None:
        """Let the process run again."""
        self._signal(signal.SIGCONT)

    def end(self) -> None:
        """End the process: it may clean up, but not for long."""
        self._connection.close()
        self.go()
        self._process.join(_END_SECONDS)
        self._process.kill()
        self._process.join()

    def _signal(self, number: int) -> None:
        if self._process.pid is not None and self._process.is_alive():
            os.kill(self._process.pid, number)

    def _answer(self, seconds: float) -> Any:
        try:
            if not self._connection.poll(seconds):
                raise ChildError("hang", f"no answer after {seconds:.0f} s")
            raised, answer = self._connection.recv()
        except (EOFError, ConnectionError):
            raise self._crash() from None
        if raised:
            raise ChildError("exception", answer)
        return answer

    def _crash(self) -> ChildError:
        self._process.join()
        return ChildError("crash", f"exit status {self._process.exitcode}")


def _serve(connection: Connection, make: Maker, job: Mapping[str, Any]) -> None:
    raised, answer = _attempt(make, job)
    connection.send((raised, answer if raised else None))
    while not raised:
        try:
            message = connection.recv()
        except EOFError:
            return
        connection.send(_attempt(answer, message))


def _attempt(function: Callable[[Any], Any], argument: Any) -> tuple[bool, Any]:
    """Whether `function` raises, and the traceback or what it returns."""
    try:
        return False, function(argument)
    except Exception:
        return True, traceback.format_exc(limit=_TRACEBACK_DEPTH)


@contextmanager
def _installed_first() -> Iterator[None]:
    """Let a new process find the xyntra that is installed before the one in the clone.

    `python -m` puts the clone first, where the package is not complete.
    """
    with _path_lock:
        before = list(sys.path)
        own = {"", str(ROOT)}
        sys.path[:] = [path for path in before if path not in own] + [str(ROOT)]
        try:
            yield
        finally:
            sys.path[:] = before
