# SPDX-License-Identifier: MIT OR Apache-2.0
"""The owner's side of the process that runs kernels: it is ended and replaced when it fails."""

from __future__ import annotations

import os
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from multiprocessing.connection import Connection
from typing import Any, BinaryIO

from xyntra.tune.measuring.server import USUAL
from xyntra.tune.measuring.subject import Subject

__all__ = ["USUAL", "Failed", "Gone", "Measurer"]

_PATH = "import sys; sys.path[:] = sys.argv[1:-1]; "
_OPENING = 120.0
"""Seconds for loading a kernel with its weights and running it once, as it is without tuning."""
_PATIENCE = 5.0
"""Seconds that any run may take, and more where the usual one takes longer: others may have the
processor for a while."""
_LOADS = 4
"""A candidate may take so many times as long to load as all that the kernel has took at first."""
_TIMES = 20
"""A candidate that takes so many times as long as the usual code is given up."""


class Failed(Exception):
    """The process died, or took too long, over a candidate.

    Attributes:
        status: "crashed" or "hung".
    """

    def __init__(self, status: str, detail: str) -> None:
        super().__init__(detail)
        self.status = status


class Gone(Failed):
    """Its usual code cannot be run any more, either: the device has disappeared, say."""


class Measurer:
    """Runs one kernel at a time.

    Args:
        start: Python code that ends in the server's `main`.
        memory_limit: bytes of address space that the process may use; None for no limit.
    """

    def __init__(self, start: str, memory_limit: int | None = None) -> None:
        self._code = start
        self._memory_limit = memory_limit
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._messages: BinaryIO | None = None
        self._subject: Subject | None = None
        self._longest = self._loading = _PATIENCE

    def open(self, subject: Subject) -> None:
        """Load a kernel as it is without tuning, with its data.

        Raises:
            Failed: it cannot be run alone.
        """
        self._subject = subject
        self._reopen()

    def add(self, name: str, code: bytes) -> str:
        """Load other code for the kernel and run it once; returns how it is wrong, or "".

        Raises:
            Failed: it died or hangs; what was loaded besides is loaded no longer.
        """
        return str(self._ask(self._longest + self._loading, "add", name, code))

    def time(self, name: str) -> float:
        """Run what was added under a name, or the usual code; returns nanoseconds of a launch.

        Raises:
            Failed: as `add`.
        """
        return float(self._ask(self._longest, "time", name))

    def drop(self, name: str) -> None:
        """Unload what was added under a name."""
        self._ask(_PATIENCE, "drop", name)

    def revive(self) -> None:
        """Start the process again after it has failed, with the usual code.

        Raises:
            Gone: that fails, too, so that nothing is known of what failed before.
        """
        try:
            if self._process is None:
                self._start()
                self._reopen()
        except Failed as failure:
            raise Gone(failure.status, f"the kernel cannot be run any more: {failure}") from failure

    def close(self) -> None:
        """End the process."""
        process, self._process = self._process, None
        if self._pipe is not None:
            self._pipe.close()
        if process is not None:
            process.kill()
            process.wait()
        if self._messages is not None:
            self._messages.close()
        self._pipe = self._messages = None

    def _reopen(self) -> None:
        start = time.monotonic()
        self._ask(_OPENING, "open", self._subject)
        self._loading = max(_PATIENCE, _LOADS * (time.monotonic() - start))
        self._ask(_OPENING, "time", USUAL)
        start = time.monotonic()
        self._ask(_OPENING, "time", USUAL)
        self._longest = max(_PATIENCE, _TIMES * (time.monotonic() - start))

    def _ask(self, timeout: float, *question: Any) -> Any:
        if self._process is None:
            self._start()
            if question[0] != "open" and self._subject is not None:
                self._reopen()
        pipe, process = self._pipe, self._process
        if pipe is None or process is None:
            raise Failed("crashed", "the process that runs kernels did not start")
        try:
            pipe.send(question)
            if not pipe.poll(timeout):
                raise Failed("hung", f"it ran for more than {timeout:.1f} s")
            return pipe.recv()
        except (EOFError, OSError) as error:
            ending = self._ending(process)
            self.close()
            raise Failed("crashed", ending) from error
        except BaseException:
            self.close()  # an answer that comes late is not to be taken for one of what is next
            raise

    def _ending(self, process: subprocess.Popen[bytes]) -> str:
        """Return how the process ended, with the last line that it wrote."""
        try:
            status = process.wait(_PATIENCE)
        except subprocess.TimeoutExpired:
            return "it closed its pipe"
        said = ""
        if self._messages is not None:
            self._messages.seek(0)
            lines = self._messages.read()[-2000:].decode("utf-8", "replace").strip().splitlines()
            said = f": {lines[-1]}" if lines else ""
        if status >= 0:
            return f"it ended with status {status}{said}"
        with suppress(ValueError):
            return f"it died of {signal.Signals(-status).name}{said}"
        return f"it died of signal {-status}{said}"

    def _start(self) -> None:
        ours, theirs = socket.socketpair()
        self._messages = tempfile.TemporaryFile()  # noqa: SIM115  (closed by `close`)
        path = [os.path.abspath(each) for each in sys.path if each]
        command = [sys.executable, "-P", "-c", _PATH + self._code, *path, str(theirs.fileno())]
        with theirs:
            self._process = subprocess.Popen(
                command,
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=self._messages,
                stderr=self._messages,
                start_new_session=True,  # Ctrl-C is the owner's to handle
            )
        if self._memory_limit is not None and hasattr(resource, "prlimit"):
            limits = self._memory_limit, self._memory_limit
            with suppress(OSError):  # it has ended, which is found when it is asked
                resource.prlimit(self._process.pid, resource.RLIMIT_AS, limits)
        self._pipe = Connection(ours.detach())
