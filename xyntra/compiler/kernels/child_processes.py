# SPDX-License-Identifier: MIT OR Apache-2.0
"""Child processes that compile one kernel at a time and may crash.

A child gets one kernel and answers before it gets the next, so neither side ever waits with a full
pipe. What it writes to standard error is kept: LLVM says there why it aborts.
"""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection, wait
from typing import BinaryIO

from xyntra.compiler.worker.answers import (
    MEMORY_VARIABLE,
    answer,
    out_of_memory,
    result,
    says_no_memory,
)
from xyntra.compiler.worker.fork_server import ForkServer
from xyntra.errors import CompileError, WorkerError
from xyntra.targets.kernel import CompiledKernel, KernelSource

_STDERR_LINES = 12


@dataclass
class Child:
    """A process and the kernel that it is at; `key` is empty while it has none."""

    server: ForkServer
    pid: int
    pipe: Connection
    stderr: BinaryIO
    key: str = ""
    kernel: KernelSource = field(default_factory=lambda: KernelSource("", ""))
    deadline: float = 0.0

    def start_next(self, queue: deque[tuple[str, KernelSource]], timeout: float) -> None:
        """Send the next kernel of `queue`, if there is one."""
        self.key = ""
        if not queue:
            return
        self.key, self.kernel = queue.popleft()
        self.deadline = time.monotonic() + timeout
        with suppress(OSError):  # a process that has died is met again by `outcome`
            self.pipe.send(self.kernel)

    def outcome(self) -> CompiledKernel | CompileError:
        """Return the kernel that is done, or why it could not be compiled.

        A process that died over it, or is still at it, is replaced by another.

        Raises:
            WorkerError: the server died.
        """
        if not self.pipe.poll():
            os.kill(self.pid, signal.SIGKILL)
            message = "compiling a kernel took too long"
            failure = WorkerError("kernel-timeout", message, place=self.kernel.place)
            self._replace()
            return failure
        try:
            data = self.pipe.recv_bytes()
        except (EOFError, OSError):
            return self._replace()
        try:
            return CompiledKernel.from_bytes(result(data))
        except CompileError as error:
            return error

    def close(self) -> None:
        """Let go of the process; it ends when it has nothing to do, or with its server."""
        self.pipe.close()
        self.stderr.close()

    def _replace(self) -> WorkerError:
        """Start another process in the place of one that has ended; returns how it ended."""
        try:
            failure = self._crash()
            other = _start_child(self.server)
        except OSError as error:
            raise _server_died(error) from error
        self.close()
        self.pid, self.pipe, self.stderr = other.pid, other.pipe, other.stderr
        return failure

    def _crash(self) -> WorkerError:
        status = self.server.exit_status(self.pid)
        self.stderr.seek(0)
        messages = self.stderr.read().decode("utf-8", "replace")
        cause = "\n".join(messages.splitlines()[-_STDERR_LINES:]) or None
        # Libraries below us end the process in many ways when an allocation fails.
        if MEMORY_VARIABLE in os.environ or says_no_memory(messages):
            failure = out_of_memory(cause)
            failure.place = self.kernel.place
            return failure
        message = f"the compiler died of {_exit_reason(status)} on a kernel"
        return WorkerError("kernel-crash", message, place=self.kernel.place, cause=cause)


def ready(busy: list[Child]) -> list[Child]:
    """Wait for answers, for the end of a process, or for the first that takes too long."""
    first = min(child.deadline for child in busy)
    ready = wait([child.pipe for child in busy], max(0.0, first - time.monotonic()))
    if not ready:
        return [min(busy, key=lambda child: child.deadline)]
    return [child for child in busy if child.pipe in ready]


@contextmanager
def child_processes(server: ForkServer, count: int) -> Iterator[list[Child]]:
    """Start `count` children of `server`, which `serve_kernels`; close them on the way out.

    Raises:
        WorkerError: the server died.
    """
    children: list[Child] = []
    try:
        for _ in range(count):
            children.append(_start_child(server))
        yield children
    finally:
        for child in children:
            child.close()


def _start_child(server: ForkServer) -> Child:
    stderr = tempfile.TemporaryFile()  # noqa: SIM115  (closed by Child.close)
    try:
        return Child(server, *server.fork(stderr.fileno()), stderr)
    except OSError as error:
        stderr.close()
        raise _server_died(error) from error


def _server_died(error: OSError) -> WorkerError:
    message = "the process that loads the compiler died"
    return WorkerError("worker-crashed", message, cause=str(error))


def serve_kernels(pipe: Connection, compile_one: Callable[[KernelSource], CompiledKernel]) -> None:
    """Compile what comes through `pipe` until its other end is closed."""
    while True:
        try:
            kernel = pipe.recv()
        except EOFError:
            return
        pipe.send_bytes(answer(partial(_compiled, kernel, compile_one)))


def _compiled(kernel: KernelSource, compile_one: Callable[[KernelSource], CompiledKernel]) -> bytes:
    return compile_one(kernel).to_bytes()


def _exit_reason(code: int) -> str:
    return signal.Signals(-code).name if code < 0 else f"exit status {code}"
