# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process that compiles one model, as its caller sees it: a request goes in, an answer comes out.

What it writes to standard error goes to a file, which nobody has to empty for it to go on.
"""

from __future__ import annotations

import os
import select
import selectors
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import IO, NamedTuple

from xyntra.compiler.worker.frames import whole_frame
from xyntra.compiler.worker.zygote import NUMBER

__all__ = ["Ending", "WorkerProcess", "read_messages"]

_CHUNK = 1 << 16


class Ending(NamedTuple):
    """How a process has ended.

    Attributes:
        status: its exit status, or minus the signal that ended it.
        messages: what it had written to standard error.
    """

    status: int
    messages: str


class WorkerProcess:
    """A child of a zygote, on the way or there."""

    def __init__(self) -> None:
        self._messages = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (closed by `close`)
        self._theirs: list[int] = []
        self._status, theirs = os.pipe()
        self._theirs.append(theirs)
        theirs, self._requests = os.pipe()
        self._theirs.append(theirs)
        self._answers, theirs = os.pipe()
        self._theirs.append(theirs)
        self._numbers = bytearray()
        for file in (self._requests, self._answers):
            os.set_blocking(file, False)

    @contextmanager
    def files(self) -> Iterator[list[int]]:
        """The files that its zygote is to get: status, requests, answers and messages."""
        try:
            yield [*self._theirs, self._messages.fileno()]
        finally:
            for file in self._theirs:
                os.close(file)
            self._theirs = []

    def ask(
        self, request: bytes, timeout: float, meanwhile: Callable[[], None] = lambda: None
    ) -> bytes | None:
        """Return the answer to a request; None where the process ended without one.

        Args:
            request: messages that the process reads, framed.
            timeout: seconds until the answer must have come.
            meanwhile: called when the process has the request.

        Raises:
            TimeoutError: there was no answer in `timeout` seconds.
        """
        deadline = time.monotonic() + timeout
        rest = memoryview(request)
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
                    if key.fileobj == self._requests:
                        rest = self._send(rest)
                        if not rest:
                            selector.unregister(self._requests)
                            meanwhile()
                        continue
                    part = os.read(self._answers, _CHUNK)
                    answer += part
                    whole = whole_frame(answer)
                    if whole is not None or not part:
                        return whole

    def _send(self, rest: memoryview) -> memoryview:
        try:
            return rest[os.write(self._requests, rest[:_CHUNK]) :]
        except BlockingIOError:
            return rest
        except OSError:  # it has ended, which its answers will tell
            return rest[len(rest) :]

    def pid(self, timeout: float = 0.0) -> int | None:
        """Its number; None where there is none yet after `timeout` seconds."""
        return self._number(0, timeout)

    def ending(self, timeout: float) -> Ending | None:
        """Wait for its end; None where nobody can tell how it ended, or it has not."""
        status = self._number(1, timeout)
        return None if status is None else Ending(status, read_messages(self._messages))

    def _number(self, index: int, timeout: float) -> int | None:
        deadline = time.monotonic() + timeout
        end = (index + 1) * NUMBER.size
        while len(self._numbers) < end:
            left = max(0.0, deadline - time.monotonic())
            if not select.select([self._status], [], [], left)[0]:
                return None
            part = os.read(self._status, end - len(self._numbers))
            if not part:
                return None
            self._numbers += part
        return int(NUMBER.unpack_from(self._numbers, index * NUMBER.size)[0])

    def close(self) -> None:
        """Let go of it; it ends when it has answered."""
        for file in (self._status, self._requests, self._answers):
            os.close(file)
        self._messages.close()


def read_messages(file: IO[bytes]) -> str:
    """What a process has written to a file."""
    file.seek(0)
    return file.read().decode("utf-8", "replace")
