# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compiles in a process of its own, so that a crash below us is an error and not the end.

`compile_isolated` is the caller's side. The worker's is `main`: it reads a request from standard
input and answers on standard output with one status byte and the result.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

from xyntra.compiler.answers import (
    MEMORY_VARIABLE,
    answer,
    is_answer,
    out_of_memory,
    result,
    says_no_memory,
)
from xyntra.compiler.orphans import end_with_parent
from xyntra.compiler.pass_marks import last_pass, mark_passes, without_marks
from xyntra.errors import WorkerError

if TYPE_CHECKING:
    from xyntra.compiler.request import Request

# The worker finds what its caller finds, but starts with a path of its own: a file beside the
# caller's script must not take the place of a standard module while Python starts.
_START = "import sys; sys.path[:] = sys.argv[1:]; from xyntra.worker import main; main()"
_TAIL = 2000


def compile_isolated(
    request: Request,
    *,
    timeout: float,
    memory_limit: int | None,
    meanwhile: Callable[[], None] | None = None,
) -> bytes:
    """Run `request` in a worker process and return its result.

    Args:
        request: what to compile.
        timeout: seconds after which the worker is ended.
        memory_limit: bytes of address space that the worker may use, where the system can limit it.
        meanwhile: called while the worker starts.

    Raises:
        XyntraError: what the worker raised.
        WorkerError: it crashed, was killed, took too long or ran out of memory.
    """
    environment = {
        "OPENBLAS_NUM_THREADS": "1",
        **os.environ,
    }  # numpy multiplies nothing large there
    if memory_limit is not None:
        environment[MEMORY_VARIABLE] = str(memory_limit)
    process = subprocess.Popen(
        [sys.executable, "-P", "-c", _START, *filter(None, sys.path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
        start_new_session=True,
    )
    try:
        if meanwhile is not None:
            meanwhile()
        data, messages = process.communicate(request.to_bytes(), timeout=timeout)
    except subprocess.TimeoutExpired:
        raise WorkerError(
            "worker-timeout",
            f"compiling took more than {timeout:g} seconds and was ended",
            hint="raise compile_timeout",
        ) from None
    finally:
        _end(process)
    text = messages.decode("utf-8", "replace")
    return _result(data, text, process.returncode, limited=memory_limit is not None)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End the worker with the kernel compilers that it has forked."""
    if process.returncode is None or process.returncode < 0:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if hasattr(os, "killpg"):
                os.killpg(process.pid, signal.SIGKILL)
            else:
                process.kill()
    process.communicate()


def _result(data: bytes, messages: str, status: int, *, limited: bool) -> bytes:
    if status == 0 and is_answer(data):
        return result(data)
    tail = without_marks(messages).strip()[-_TAIL:]
    # Libraries below us end the process in many ways when an allocation fails.
    if limited or says_no_memory(messages):
        raise out_of_memory(f"{_ending(status)}\n{tail}".strip())
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
    raise error


def _ending(status: int) -> str:
    if status >= 0:
        return f"exit status {status}"
    names = {number.value: number.name for number in signal.Signals}
    return f"signal {names.get(-status, -status)}"


def main() -> None:
    """Answer one request."""
    end_with_parent()
    mark_passes()
    gc.disable()  # the process is short-lived: collecting costs more than it frees
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    _limit_memory()
    answers.write(answer(_compile))
    answers.flush()
    os._exit(0)  # MLIR's teardown takes time and serves nobody.


def _compile() -> bytes:
    from xyntra.compiler.compile_request import compile_request
    from xyntra.compiler.request import Request

    return compile_request(Request.from_bytes(sys.stdin.buffer.read()), apart=True)


def _limit_memory() -> None:
    limit = os.environ.get(MEMORY_VARIABLE)
    if limit is None:
        return
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (int(limit), int(limit)))
