# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls a function in a forked process, which a crash or a time limit may end."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import traceback
from collections.abc import Callable
from multiprocessing.connection import Connection
from typing import Any

__all__ = ["ChildFailure", "call"]


class ChildFailure(Exception):
    """The function has no result.

    Attributes:
        kind: "crash", "hang" or "exception".
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(detail)
        self.kind = kind


def call(function: Callable[..., Any], *arguments: Any, seconds: float) -> Any:
    """Return `function(*arguments)`, computed in a forked process.

    The process leads a group of its own, which is ended with it.

    Raises:
        ChildFailure: it raised, crashed, or took more than `seconds`.
    """
    context = multiprocessing.get_context("fork")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(sender, function, arguments))
    process.start()
    sender.close()
    try:
        if not receiver.poll(seconds):
            raise ChildFailure("hang", f"no result after {seconds:.0f} s")
        raised, value = receiver.recv()
    except EOFError:
        process.join()
        raise ChildFailure("crash", _ending(process.exitcode)) from None
    finally:
        receiver.close()
        _end(process)
    if raised:
        raise ChildFailure("exception", value)
    return value


def _serve(sender: Connection, function: Callable[..., Any], arguments: tuple[Any, ...]) -> None:
    os.setsid()
    # What libraries print would stand between the lines of the report.
    null = os.open(os.devnull, os.O_WRONLY)
    sys.stdout.flush()
    sys.stderr.flush()
    os.dup2(null, 1)
    os.dup2(null, 2)
    try:
        message = False, function(*arguments)
    except Exception:
        message = True, traceback.format_exc(limit=-4)
    sender.send(message)
    sender.close()


def _end(process: Any) -> None:
    process.join(0.5)
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        process.kill()
    process.join()


def _ending(code: int | None) -> str:
    if code is not None and code < 0:
        return f"ended by signal {-code} ({signal.strsignal(-code)})"
    return f"ended with status {code}"
