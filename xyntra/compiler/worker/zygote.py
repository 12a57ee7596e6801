# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loads the compiler once, and forks a process for everything that is to be compiled.

A zygote reads no model: each of its children starts from the same state, whatever the ones before
have done, and takes milliseconds to start. It lives as long as the process that started it, unless
nobody asks for a while.
"""

from __future__ import annotations

import contextlib
import gc
import os
import select
import signal
import socket
import struct
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from xyntra.compiler.worker.orphans import end_of_parent, end_with_parent

__all__ = ["FORK", "KILL", "MOST_FILES", "NUMBER", "Zygote"]

FORK, KILL = b"f", b"k"
"""What a message begins with: what the child is for comes after it, or the child's number."""
NUMBER = struct.Struct("<q")
"""What a child's status file gets: its number when it starts, its exit status when it has ended."""
MOST_FILES = 8
_LONGEST = 1 << 16
_FAILED = 1


def _nothing() -> Iterator[None]:
    return iter(())


@dataclass
class Zygote:
    """Forks children until the other end of `control` is closed.

    Attributes:
        control: a socket of messages. FORK comes with files for the child, the first of which is
            written by the zygote itself: it is the child's status file.
        prepare: called with what a child is for, before it is forked; returns more files for it.
        serve: what a child does with what it is for and its files.
        more: what is loaded in steps while there are no children.
        idle: seconds without a child or a message after which the zygote ends; None for no end.
    """

    control: socket.socket
    prepare: Callable[[bytes], list[int]]
    serve: Callable[[bytes, list[int]], None]
    more: Callable[[], Iterator[None]] = _nothing
    idle: float | None = None
    _children: dict[int, int] = field(default_factory=dict)

    def run(self) -> None:
        """Do what messages say."""
        with _children_wake() as ended:
            watched = [self.control.fileno(), ended, *end_of_parent()]
            try:
                self._run(watched)
            finally:
                for child in self._children:
                    _kill(child)

    def _run(self, watched: list[int]) -> None:
        control, ended, *parent = watched
        steps: Iterator[None] | None = self.more()
        while True:
            seconds = None if self._children else (self.idle if steps is None else 0)
            ready = select.select(watched, [], [], seconds)[0]
            if ended in ready:
                with contextlib.suppress(BlockingIOError):
                    os.read(ended, _LONGEST)
                self._reap()
            if control in ready and not self._obey(watched):
                return
            if parent and parent[0] in ready:
                return
            if not ready:
                if steps is None:
                    return
                steps = _step(steps)

    def _obey(self, own_files: list[int]) -> bool:
        message, files, _, _ = socket.recv_fds(self.control, _LONGEST, MOST_FILES)
        if not message:
            return False
        command, rest = message[:1], message[1:]
        if command == FORK:
            self._fork(rest, [*files, *self.prepare(rest)], own_files)
        elif (child := NUMBER.unpack(rest)[0]) in self._children:
            _kill(child)
        return True

    def _fork(self, purpose: bytes, files: list[int], own_files: list[int]) -> None:
        zygote = os.getpid()
        child = os.fork()
        if not child:
            status, *given = files
            for file in [*own_files, *self._children.values(), status]:
                os.close(file)
            self._live(zygote, purpose, given)
        status, *given = files
        for file in given:
            os.close(file)
        self._children[child] = status
        _tell(status, child)

    def _live(self, zygote: int, purpose: bytes, files: list[int]) -> None:
        """Be a child; nothing of the zygote's may run after it."""
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            end_with_parent(zygote)
            self.serve(purpose, files)
            os._exit(0)
        except BaseException:
            os.write(2, traceback.format_exc().encode())
            os._exit(_FAILED)

    def _reap(self) -> None:
        for child in list(self._children):
            # Until its status is read nobody else has its number, and what it has left is ended.
            flags = os.WEXITED | os.WNOHANG | os.WNOWAIT
            if os.waitid(os.P_PID, child, flags) is None:
                continue
            _kill(child)
            status = self._children.pop(child)
            _tell(status, os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
            os.close(status)


def _step(steps: Iterator[None]) -> Iterator[None] | None:
    try:
        next(steps)
        return steps
    except Exception:  # also at the end of it; what cannot be loaded is met again by a child
        gc.collect()
        gc.freeze()  # so that children do not copy what a collection would write to
        return None


def _tell(status: int, number: int) -> None:
    with contextlib.suppress(OSError):  # nobody waits for it any more
        os.write(status, NUMBER.pack(number))


def _kill(child: int) -> None:
    """End a child with what it has started, also where it has no session of its own yet."""
    for end in (os.killpg, os.kill):
        with contextlib.suppress(ProcessLookupError, PermissionError):
            end(child, signal.SIGKILL)


@contextlib.contextmanager
def _children_wake() -> Iterator[int]:
    """Yield a file that can be read when a child has ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    yield reading
