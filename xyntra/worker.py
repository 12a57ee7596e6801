# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles in a process of its own, so that a crash below us is an error and not the end.

`compile_isolated` is the caller's side. The other one begins with `main`, in a zygote: it loads the
compiler once, and forks a worker for each model.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass

from xyntra.compiler.worker import kept_zygote
from xyntra.compiler.worker.answers import is_answer, out_of_memory, result, says_no_memory
from xyntra.compiler.worker.frames import framed
from xyntra.compiler.worker.pass_marks import last_pass, without_marks
from xyntra.compiler.worker.request import Purpose, Request
from xyntra.compiler.worker.surroundings import Surroundings
from xyntra.compiler.worker.worker_process import Ending
from xyntra.compiler.worker.zygote_process import ZygoteProcess
from xyntra.errors import WorkerError

# The zygote finds what its caller finds, but starts with a path of its own: a file beside the
# caller's script must not take the place of a standard module while Python starts.
_START = "import sys; sys.path[:] = sys.argv[1:]; from xyntra.worker import main; main()"
_TAIL = 2000
_PATIENCE = 5.0
"""Seconds in which a process that has closed its files has to end."""
_ATTEMPTS = 2
"""Zygotes that are asked: one may be about to end."""


def compile_isolated(
    request: Request,
    *,
    timeout: float,
    memory_limit: int | None,
    meanwhile: Callable[[], None] = lambda: None,
) -> bytes:
    """Run `request` in a worker process and return its result.

    Args:
        request: what to compile.
        timeout: seconds after which the worker is ended.
        memory_limit: bytes of address space that the worker may use, where the system can limit it.
        meanwhile: called while the worker works on it.

    Raises:
        XyntraError: what the worker raised.
        WorkerError: it crashed, was killed, took too long or ran out of memory.
    """
    purpose = Purpose.of(request).to_bytes()
    surroundings = Surroundings.here(memory_limit).to_bytes()
    asked = _Asked(purpose, framed(surroundings) + framed(request.to_bytes()), timeout, meanwhile)
    for _ in range(_ATTEMPTS):
        with kept_zygote.zygote(_start_zygote) as zygote:
            answered = _ask(zygote, asked)
            if isinstance(answered, bytes):
                return result(answered)
            ending = answered or zygote.end(_PATIENCE)
        if answered is not None:
            break
    raise _crashed(ending, limited=memory_limit is not None)


@dataclass(frozen=True)
class _Asked:
    """What a worker is asked to do, and in how many seconds."""

    purpose: bytes
    data: bytes
    timeout: float
    meanwhile: Callable[[], None]


def _ask(zygote: ZygoteProcess, asked: _Asked) -> bytes | Ending | None:
    """The answer of a worker, or how it ended without one; None where its zygote has ended."""
    try:
        worker = zygote.fork(asked.purpose)
    except OSError:
        return None
    with closing(worker):
        try:
            answered = worker.ask(asked.data, asked.timeout, asked.meanwhile)
        except TimeoutError:
            zygote.kill(worker)
            raise WorkerError(
                "worker-timeout",
                f"compiling took more than {asked.timeout:g} seconds and was ended",
                hint="raise compile_timeout",
            ) from None
        except BaseException:
            zygote.kill(worker)
            raise
        if answered is not None and is_answer(answered):
            return answered
        return worker.ending(_PATIENCE)


def _start_zygote() -> ZygoteProcess:
    path = [os.path.abspath(each) for each in sys.path if each]
    # numpy multiplies nothing large, and a process that has threads is not to be forked.
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    return ZygoteProcess([sys.executable, "-P", "-c", _START, *path], environment)


def _crashed(ending: Ending, *, limited: bool) -> WorkerError:
    """The error for a worker that has ended without an answer."""
    tail = without_marks(ending.messages).strip()[-_TAIL:]
    cause = f"{_said(ending.status)}\n{tail}".strip()
    # Libraries below us end the process in many ways when an allocation fails.
    if limited or says_no_memory(ending.messages):
        return out_of_memory(cause)
    during = last_pass(ending.messages)
    error = WorkerError(
        "worker-crashed",
        "the process that compiles the model crashed" + (f" in pass '{during}'" if during else ""),
        cause=cause,
        hint="the system may have run out of memory"
        if -ending.status == getattr(signal, "SIGKILL", None)
        else "this is a defect of Xyntra or of a library below it: please report it with the model",
    )
    error.during = during
    return error


def _said(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"signal {names.get(-status, -status)}"


def main() -> None:
    """Be a zygote; see `xyntra.compiler.zygotes`."""
    from xyntra.compiler.zygotes import run_zygotes

    run_zygotes()
