# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles in a process of its own, so that a crash below us is an error and not the end.

`compile_isolated` is the caller's side. The worker's is `main`: it reads requests from standard
input and answers on standard output, each with one status byte and the result. The first request
is answered by a worker that has nothing loaded yet, with the help of processes that load at the
same time; the ones after it find the worker ready.
"""

from __future__ import annotations

import gc
import os
import select
import signal
import sys
import time
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

from xyntra.compiler.worker import idle_worker
from xyntra.compiler.worker.answers import (
    MEMORY_VARIABLE,
    answer,
    is_answer,
    out_of_memory,
    result,
    says_no_memory,
)
from xyntra.compiler.worker.orphans import end_with_parent
from xyntra.compiler.worker.pass_marks import last_pass, mark_passes, without_marks
from xyntra.compiler.worker.worker_process import WorkerProcess, read_frame, write_frame
from xyntra.errors import WorkerError

if TYPE_CHECKING:
    from xyntra.compiler.worker.request import Request

# The worker finds what its caller finds, but starts with a path of its own: a file beside the
# caller's script must not take the place of a standard module while Python starts.
_START = "import sys; sys.path[:] = sys.argv[1:]; from xyntra.worker import main; main()"
_TAIL = 2000
_MOST_KEPT = 1 << 30
"""Bytes of memory above which a worker ends after it has answered."""


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
    data = request.to_bytes()
    kept = idle_worker.take() if memory_limit is None else None
    if kept is not None:
        answered = _ask(kept, idle_worker.surroundings(), data, timeout, meanwhile)
        if answered is not None:
            return result(answered)
        kept.end()  # it may have been about to end, or another model may have led to this
    started_in = idle_worker.surroundings() if memory_limit is None else None
    worker = WorkerProcess(_command(), _environment(memory_limit))
    start = time.monotonic()
    answered = _ask(worker, started_in, data, timeout, meanwhile)
    if answered is not None:
        return result(answered)
    status, messages = worker.end(max(0.0, timeout - (time.monotonic() - start)))
    raise _crashed(messages, status, limited=memory_limit is not None)


def _ask(
    worker: WorkerProcess,
    started_in: idle_worker.Surroundings | None,
    data: bytes,
    timeout: float,
    meanwhile: Callable[[], None],
) -> bytes | None:
    """The answer of a worker, which is kept then; None where it gave none."""
    try:
        answered = worker.ask(data, timeout, meanwhile)
    except TimeoutError:
        worker.end()
        raise WorkerError(
            "worker-timeout",
            f"compiling took more than {timeout:g} seconds and was ended",
            hint="raise compile_timeout",
        ) from None
    except BaseException:
        worker.end()
        raise
    if answered is None or not is_answer(answered):
        return None
    idle_worker.give_back(worker, started_in)
    return answered


def _command() -> list[str]:
    return [sys.executable, "-P", "-c", _START, *filter(None, sys.path)]


def _environment(memory_limit: int | None) -> dict[str, str]:
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}  # numpy multiplies nothing large
    if memory_limit is not None:
        environment[MEMORY_VARIABLE] = str(memory_limit)
    return environment


def _crashed(messages: str, status: int, *, limited: bool) -> WorkerError:
    """The error for a worker that has ended without an answer."""
    tail = without_marks(messages).strip()[-_TAIL:]
    # Libraries below us end the process in many ways when an allocation fails.
    if limited or says_no_memory(messages):
        return out_of_memory(f"{_ending(status)}\n{tail}".strip())
    during = last_pass(messages)
    error = WorkerError(
        "worker-crashed",
        "the process that compiles the model crashed" + (f" in pass '{during}'" if during else ""),
        cause=f"{_ending(status)}\n{tail}".strip(),
        hint="the system may have run out of memory"
        if -status == getattr(signal, "SIGKILL", None)
        else "this is a defect of Xyntra or of a library below it: please report it with the model",
    )
    error.during = during
    return error


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"signal {names.get(-status, -status)}"


def main() -> None:
    """Answer requests until there are no more."""
    end_with_parent()
    mark_passes()
    gc.disable()  # collecting while a model is compiled costs more than it frees
    answers = os.dup(1)
    os.dup2(2, 1)
    _limit_memory()
    is_first = True
    while (data := _next_request()) is not None:
        write_frame(answers, answer(partial(_compile, data, is_first)))
        if not _is_ready_for_more():
            break
        is_first = False
    os._exit(0)  # MLIR's teardown takes time and serves nobody.


def _next_request() -> bytes | None:
    """The next request; None when the caller has gone, or has not asked for long."""
    ready, _, _ = select.select([0], [], [], idle_worker.IDLE)
    return read_frame(0) if ready else None


def _compile(data: bytes, is_first: bool) -> bytes:
    from xyntra.compiler.compile_request import compile_request
    from xyntra.compiler.kernels.kept_servers import keep_for
    from xyntra.compiler.worker.request import Request

    keep_for(2 * idle_worker.IDLE)
    return compile_request(Request.from_bytes(data), apart=is_first)


def _is_ready_for_more() -> bool:
    """Load what other processes had loaded for the first request, and clean up."""
    if MEMORY_VARIABLE in os.environ or not hasattr(os, "fork"):
        return False
    import resource

    if resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10 > _MOST_KEPT:
        return False
    from xyntra.frontends.onnx import importer  # noqa: F401
    from xyntra.frontends.onnx.folding.fold import folded_operators
    from xyntra.frontends.onnx.node import load_importers

    load_importers()
    folded_operators()  # with their rules
    gc.collect()
    return True


def _limit_memory() -> None:
    limit = os.environ.get(MEMORY_VARIABLE)
    if limit is None:
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
