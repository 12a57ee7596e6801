# SPDX-License-Identifier: MIT OR Apache-2.0
"""A worker process as its caller sees it: requests go in, answers come out, framed by length."""

from __future__ import annotations

import contextlib
import os
import selectors
import signal
import struct
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from typing import IO, cast

__all__ = ["WorkerProcess", "read_frame", "write_frame"]

_LENGTH = struct.Struct("<Q")
_CHUNK = 1 << 16


def read_frame(file: int) -> bytes | None:
    """Read one frame from a file descriptor that blocks; None at its end."""
    head = _read(file, _LENGTH.size)
    return None if head is None else _read(file, _LENGTH.unpack(head)[0])


def write_frame(file: int, data: bytes) -> None:
    """Write one frame to a file descriptor that blocks."""
    rest = memoryview(_LENGTH.pack(len(data)) + data)
    while rest:
        rest = rest[os.write(file, rest) :]


def _read(file: int, count: int) -> bytes | None:
    data = bytearray()
    while len(data) < count:
        part = os.read(file, min(count - len(data), 1 << 20))
        if not part:
            return None
        data += part
    return bytes(data)


class WorkerProcess:
    """A process that answers requests, one at a time; it has a session of its own.

    What it writes to standard error goes to a file, which nobody has to empty for it to go on.

    Args:
        command: what to start.
        environment: its environment variables.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._messages = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (closed by `end`)
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._messages,
            env=environment,
            start_new_session=True,
            bufsize=0,
        )
        self._requests = cast("IO[bytes]", self._process.stdin)
        self._answers = cast("IO[bytes]", self._process.stdout)
        for pipe in (self._requests, self._answers):
            os.set_blocking(pipe.fileno(), False)

    @property
    def pid(self) -> int:
        """Its number, which is that of its session, too."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def ask(
        self, request: bytes, timeout: float, meanwhile: Callable[[], None] = lambda: None
    ) -> bytes | None:
        """Return the answer to a request; None where the process ended without one.

        Args:
            request: what the process reads.
            timeout: seconds until the answer must have come.
            meanwhile: called when the process has the request.

        Raises:
            TimeoutError: there was no answer in `timeout` seconds.
        """
        os.ftruncate(self._messages.fileno(), 0)
        deadline = time.monotonic() + timeout
        rest = memoryview(_LENGTH.pack(len(request)) + request)
        answer = bytearray()
        with selectors.DefaultSelector() as selector:
            selector.register(self._requests, selectors.EVENT_WRITE)
            selector.register(self._answers, selectors.EVENT_READ)
            while True:
                left = deadline - time.monotonic()
                ready = selector.select(left) if left > 0 else []
                if not ready:
                    raise TimeoutError
                for key, _ in ready:
                    if key.fileobj is self._requests:
                        rest = self._send(rest)
                        if not rest:
                            selector.unregister(self._requests)
                            meanwhile()
                        continue
                    part = os.read(self._answers.fileno(), _CHUNK)
                    answer += part
                    whole = _whole(answer)
                    if whole is not None or not part:
                        return whole

    def _send(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._requests.fileno(), rest[:_CHUNK]) :]
        except BlockingIOError:
            return rest
        except OSError:  # it has ended, which its answers will tell
            return rest[len(rest) :]

    def end(self, wait: float = 0.0) -> tuple[int, str]:
        """End the process with all that it has started; returns its status and messages.

        Args:
            wait: seconds that it is given to end by itself.
        """
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(wait)
        if self._process.returncode is None or self._process.returncode < 0:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                if hasattr(os, "killpg"):
                    os.killpg(self._process.pid, signal.SIGKILL)
                else:
                    self._process.kill()
        status = self._process.wait()
        self._messages.seek(0)
        messages = self._messages.read().decode("utf-8", "replace")
        self._close()
        return status, messages

    def leave(self) -> None:
        """Let go of a worker of the process from which this one was forked."""
        self._process.returncode = 0  # it is not ours: neither to wait for nor to warn about
        self._close()

    def _close(self) -> None:
        for file in (self._requests, self._answers, self._messages):
            file.close()


def _whole(data: bytearray) -> bytes | None:
    """The frame that `data` is, once it is complete."""
    if len(data) < _LENGTH.size:
        return None
    end = _LENGTH.size + _LENGTH.unpack_from(data)[0]
    return bytes(data[_LENGTH.size : end]) if len(data) >= end else None
