# SPDX-License-Identifier: MIT OR Apache-2.0
"""Packs the answer of a compiling process: its result, or the error for its caller to raise."""

from __future__ import annotations

import json
import os
from collections.abc import Callable

from xyntra.errors import CompileError, WorkerError, XyntraError

__all__ = [
    "answer",
    "is_answer",
    "out_of_memory",
    "result",
    "says_no_memory",
    "succeeded",
    "unexpected",
]

MEMORY_VARIABLE = "_XYNTRA_WORKER_MEMORY"
"""Tells a process how many bytes of address space it may use."""

_DONE, _FAILED = b"\x00", b"\x01"
_NO_MEMORY = ("bad_alloc", "failed to map segment", "Cannot allocate memory", "out of memory")
"""What the loader, C++ and LLVM say when there is no memory."""


def answer(compute: Callable[[], bytes]) -> bytes:
    """Return what `compute` returns, or what it raises, for `result` in another process."""
    try:
        return _DONE + compute()
    except XyntraError as error:
        failure = error
    except Exception as error:
        failure = out_of_memory() if _is_out_of_memory(error) else unexpected(error)
    return _FAILED + json.dumps(failure.to_dict()).encode()


def result(data: bytes) -> bytes:
    """Return the result in an answer.

    Raises:
        XyntraError: the one that the answer holds.
    """
    if data[:1] == _FAILED:
        raise XyntraError.from_dict(json.loads(data[1:]))
    return data[1:]


def is_answer(data: bytes) -> bool:
    """Tell whether `data` begins as an answer does."""
    return data[:1] in (_DONE, _FAILED)


def succeeded(data: bytes) -> bool:
    """Tell whether an answer holds a result."""
    return data[:1] == _DONE


def says_no_memory(messages: str) -> bool:
    """Tell whether a process that has ended wrote that there was no memory."""
    return any(sign in messages for sign in _NO_MEMORY)


def out_of_memory(cause: str | None = None) -> WorkerError:
    """The error for a process that ran out of memory."""
    return WorkerError(
        "worker-memory",
        "compiling the model ran out of memory",
        cause=cause,
        hint="raise memory_limit",
    )


def _is_out_of_memory(error: Exception) -> bool:
    if isinstance(error, MemoryError) or says_no_memory(str(error)):
        return True
    # Loading and starting a library under a limit fails with messages of many kinds.
    return MEMORY_VARIABLE in os.environ and isinstance(error, (ImportError, OSError, SystemError))


def unexpected(error: Exception) -> CompileError:
    """The error for an exception that nobody foresaw."""
    import traceback

    frame = traceback.extract_tb(error.__traceback__)[-1]
    return CompileError(
        "internal-error",
        "the compiler failed in a way that was not foreseen",
        place=f"{os.path.basename(frame.filename)}:{frame.lineno}, {frame.name}",
        cause=f"{type(error).__name__}: {error}",
        hint="please report this with the model",
    )
