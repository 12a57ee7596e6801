# SPDX-License-Identifier: MIT OR Apache-2.0
"""A zygote as the process sees it that started it."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import subprocess
import tempfile
import threading
from collections.abc import Mapping, Sequence

from xyntra.compiler.worker.worker_process import Ending, WorkerProcess, read_messages
from xyntra.compiler.worker.zygote import FORK, KILL, NUMBER

__all__ = ["ZygoteProcess"]

_PATIENCE = 2.0
"""Seconds for which a worker is waited for: until it has a number, and until it has ended."""


class ZygoteProcess:
    """A process that forks workers, for all threads; it has a session of its own.

    Args:
        command: what to start; its standard input is the socket of messages.
        environment: its environment variables.
    """

    def __init__(self, command: Sequence[str], environment: Mapping[str, str]) -> None:
        self._messages = tempfile.TemporaryFile("a+b")  # noqa: SIM115  (closed by `end`)
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with theirs:
            self._process = subprocess.Popen(
                command,
                stdin=theirs.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=self._messages,
                env=environment,
                start_new_session=True,
            )
        self._ending: Ending | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int:
        """Its number, which is that of its session, too."""
        return self._process.pid

    def is_alive(self) -> bool:
        """Tell whether it has not ended."""
        return self._process.poll() is None

    def fork(self, purpose: bytes) -> WorkerProcess:
        """Return a worker that is to be forked.

        Raises:
            OSError: the zygote has ended.
        """
        worker = WorkerProcess()
        try:
            with worker.files() as files:
                socket.send_fds(self._control, [FORK + purpose], files)
        except BaseException:
            worker.close()
            raise
        return worker

    def kill(self, worker: WorkerProcess) -> None:
        """End a worker with all that it has started; if that is not possible, end the zygote."""
        pid = worker.pid(_PATIENCE)
        if pid is not None:
            with contextlib.suppress(OSError):
                self._control.send(KILL + NUMBER.pack(pid))
            if worker.ending(_PATIENCE) is not None:
                return
        self.end()

    def end(self, wait: float = 0.0) -> Ending:
        """End the process with all that it has started, once; returns how it ended.

        Args:
            wait: seconds that it is given to end by itself.
        """
        with self._lock:
            if self._ending is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(wait)
                if self._process.returncode is None or self._process.returncode < 0:
                    self._kill()
                self._ending = Ending(self._process.wait(), read_messages(self._messages))
                self._close()
            return self._ending

    def leave(self) -> None:
        """Let go of the zygote of the process from which this one was forked."""
        self._process.returncode = 0  # it is not ours: neither to wait for nor to warn about
        self._close()

    def _kill(self) -> None:
        # Its workers, which have sessions of their own, are killed by the system when it dies.
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)

    def _close(self) -> None:
        self._control.close()
        self._messages.close()
