# SPDX-License-Identifier: MIT OR Apache-2.0
"""Processes that draw, compile and run models, so that a crash ends no more than one of them."""

from __future__ import annotations

import multiprocessing
import os
import traceback
from multiprocessing.connection import Connection
from typing import Any

from verify.random_graphs.models.finish import Case
from verify.random_graphs.runs.check import REFUSED, Outcome, check

__all__ = ["Child"]

_START_SECONDS = 180.0


class Child:
    """A process that answers one message after another."""

    def __init__(self, seed: int, target: str, broken: str = "") -> None:
        self._context = multiprocessing.get_context("spawn")
        self._arguments = (seed, target, broken)
        self._process: Any = None
        self._connection: Any = None
        self.answers = 0

    def number(self, number: int, seconds: float) -> tuple[Outcome, Case | None]:
        """What became of the model of a number; the model where that is a problem."""
        found = self._ask(("number", number), seconds)
        if isinstance(found, Outcome):
            return found, self._ask(("make", number), seconds)
        return found

    def case(self, case: Case, seconds: float) -> Outcome:
        """What becomes of a model."""
        found = self._ask(("case", case), seconds)
        return found if isinstance(found, Outcome) else found[0]

    def prepared(self, number: int, target: str, seconds: float) -> tuple[str, bytes]:
        """What became of the model of a number on the CPU, and its record for a target."""
        found = self._ask(("prepare", (number, target)), seconds)
        return (
            found if found.__class__ is tuple and isinstance(found[1], bytes) else (found.kind, b"")
        )

    def end(self) -> None:
        """End the process."""
        if self._process is not None:
            self._connection.close()
            self._process.kill()
            self._process.join()
            self._process = None
        self.answers = 0

    def _start(self) -> None:
        self._connection, other = self._context.Pipe()
        self._process = self._context.Process(
            target=_serve, args=(other, *self._arguments), daemon=True
        )
        self._process.start()
        other.close()
        if not self._connection.poll(_START_SECONDS):
            raise RuntimeError("a process does not start")
        self._connection.recv()

    def _ask(self, message: Any, seconds: float) -> Any:
        if self.answers > 400:
            self.end()
        if self._process is None:
            self._start()
        self.answers += 1
        try:
            self._connection.send(message)
            if not self._connection.poll(seconds):
                self.end()
                return Outcome("timeout", f"no answer after {seconds:.0f} s", "timeout")
            return self._connection.recv()
        except (EOFError, ConnectionError):
            self._process.join()
            status = self._process.exitcode
            self._connection.close()
            self._process = None
            self.answers = 0
            return Outcome("crash", f"exit status {status}", f"crash {status}")


def _serve(connection: Connection, seed: int, target: str, broken: str) -> None:
    from verify.random_graphs.runs import self_check

    os.environ.setdefault("XYNTRA_CACHE", "false")
    if broken:
        self_check.install(broken)
    connection.send("ready")
    while True:
        try:
            what, argument = connection.recv()
        except EOFError:
            return
        try:
            connection.send(_answer(what, argument, seed, target))
        except Exception:
            text = traceback.format_exc(limit=-4)
            connection.send((Outcome("generator", text, text.splitlines()[-1][:100]), None))


def _answer(what: str, argument: Any, seed: int, target: str) -> Any:
    from verify.random_graphs.models.generate import generate

    if what == "prepare":
        number, other = argument
        return _prepared(generate(seed, number), number, other)
    case = argument if what == "case" else generate(seed, argument)
    if what == "make":
        return case
    outcome = check(case, target)
    return outcome, None if outcome.kind == "agrees" else case


def _prepared(case: Case, number: int, target: str) -> tuple[str, bytes]:
    from verify.random_graphs.runs.record import record_of
    from xyntra.errors import XyntraError

    outcome = check(case, "cpu")
    if outcome.kind != "agrees":
        return outcome.kind, b""
    try:
        return "agrees", record_of(number, case, target)
    except XyntraError as error:
        kind = "refused" if error.code in REFUSED else "compiler"
        if kind == "compiler":
            print(f"#{number} {error}", flush=True)
        return kind, b""
