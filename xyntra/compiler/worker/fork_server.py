# SPDX-License-Identifier: MIT OR Apache-2.0
"""A process that loads what its children need, and forks them.

It is started early and loads while its owner does something else. The children share the memory of
what it has loaded, and start in a few milliseconds. It ends, and ends them, as soon as its owner
closes the socket between the two, or dies.
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import select
import signal
import socket
import struct
import threading
import traceback
import warnings
from collections.abc import Callable, Iterator
from multiprocessing.connection import Connection
from typing import Any

from xyntra.compiler.worker.orphans import end_with_parent

__all__ = ["ForkServer", "can_fork", "close_files_but", "forked", "serve_forks"]

_MESSAGE = struct.Struct("<cq")
_ANSWER = struct.Struct("<q")
_FORK, _WAIT, _REST, _USE = b"f", b"w", b"r", b"u"
_FAILED = 1

Serve = Callable[[Connection], None]


def _nothing() -> Iterator[None]:
    return iter(())


def can_fork() -> bool:
    """Tell whether this process may be forked.

    A child has no other threads, but finds the locks that they held, for ever; and a daemonic
    process may not have children.
    """
    alone = threading.active_count() == 1
    return hasattr(os, "fork") and alone and not multiprocessing.current_process().daemon


def forked(target: Callable[..., None], *arguments: Any) -> Any:
    """Return a process forked from this one, which runs `target` and ends with its owner."""
    context = multiprocessing.get_context("fork")
    process = context.Process(target=target, args=arguments, daemon=True)
    with warnings.catch_warnings():
        # The threads of numpy's linear algebra are asleep, and no child calls it.
        warnings.simplefilter("ignore", DeprecationWarning)
        process.start()
    return process


class ForkServer:
    """Forks children on request; not for several threads at once.

    Args:
        control: the owner's end of a socket to the server.
        process: the server, where the owner has forked it.
    """

    def __init__(self, control: socket.socket, process: Any = None) -> None:
        self._control = control
        self._process = process
        self._has_children = False

    @classmethod
    def start(
        cls,
        load: Callable[[], None],
        serve: Serve,
        *,
        more: Callable[[], Iterator[None]] = _nothing,
        idle: float | None = None,
    ) -> ForkServer:
        """Fork a server from this process.

        Args:
            load: runs once in the server; what it raises is left to the children to meet again.
            more: what the server goes on to load, in steps, until the first request.
            serve: what a child does with its end of the pipe.
            idle: seconds after `rest` without `use` after which it ends by itself, or None. A
                server that may outlive the work that it was started for holds no files of its
                owner's.
        """
        control, theirs = socket.socketpair()
        process = forked(_run, theirs, control, (load, more), serve, idle)
        theirs.close()
        return cls(control, process)

    def fork(self, stderr: int) -> tuple[int, Connection]:
        """Start a child whose standard error is the file `stderr`, after loading has ended.

        Returns:
            Its number, and the owner's end of a pipe to it.

        Raises:
            OSError: the server has died.
        """
        ours, theirs = multiprocessing.Pipe()
        self._has_children = True
        socket.send_fds(self._control, [_MESSAGE.pack(_FORK, 0)], [theirs.fileno(), stderr])
        theirs.close()
        return self._answer(), ours

    def exit_status(self, pid: int) -> int:
        """Wait for a child to end; returns its exit status, or minus the signal that ended it.

        Raises:
            OSError: the server has died.
        """
        self._control.sendall(_MESSAGE.pack(_WAIT, pid))
        return self._answer()

    def rest(self) -> None:
        """Let the server end by itself unless it is used again soon; it has no children left."""
        with contextlib.suppress(OSError):  # `use` finds out
            self._control.sendall(_MESSAGE.pack(_REST, 0))

    def use(self) -> bool:
        """Let the server wait for requests as long as it takes; False if it has ended."""
        try:
            self._control.sendall(_MESSAGE.pack(_USE, 0))
            self._answer()
        except OSError:
            return False
        return True

    def leave(self) -> None:
        """Let go of a server that belongs to the process from which this one was forked."""
        self._control.close()

    def stop(self) -> None:
        """End the server and its children, whatever they do."""
        # Closing is not enough: processes that others have forked meanwhile hold it open.
        with contextlib.suppress(OSError):
            self._control.shutdown(socket.SHUT_RDWR)
        self._control.close()
        if self._process is None:
            return
        if not self._has_children:
            self._process.kill()
        self._process.join()

    def _answer(self) -> int:
        data = self._control.recv(_ANSWER.size)
        if len(data) < _ANSWER.size:
            raise ConnectionResetError("the process that forks children has died")
        return int(_ANSWER.unpack(data)[0])


def _run(
    control: socket.socket,
    other: socket.socket,
    loads: tuple[Callable[[], None], Callable[[], Iterator[None]]],
    serve: Serve,
    idle: float | None,
) -> None:
    load, more = loads
    other.close()
    if idle is not None:
        close_files_but(control.fileno())
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with contextlib.suppress(Exception):
        load()
    with contextlib.suppress(TimeoutError):  # nobody has asked for long
        _load_until_asked(control, more())
        serve_forks(control, serve, idle)


def serve_forks(control: socket.socket, serve: Serve, idle: float | None = None) -> None:
    """Fork children for the owner of the other end of `control`, until it closes it.

    Raises:
        TimeoutError: the owner has not asked for long; see `ForkServer.start`.
    """
    children: dict[int, int | None] = {}
    try:
        _answer_requests(control, serve, children, idle)
    finally:
        _reap(children)
        for pid, status in children.items():
            if status is None:
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, 0)


def _wait(pid: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])


def close_files_but(control: int) -> None:
    """Close what the owner had open, such as its sockets, except for the standard streams."""
    for name in os.listdir("/dev/fd"):
        if int(name) > 2 and int(name) != control:
            with contextlib.suppress(OSError):
                os.close(int(name))


def _reap(children: dict[int, int | None]) -> None:
    """Note the exit status of children that have ended."""
    for pid, status in children.items():
        if status is None and (ended := os.waitpid(pid, os.WNOHANG))[0]:
            children[pid] = os.waitstatus_to_exitcode(ended[1])


def _load_until_asked(control: socket.socket, steps: Iterator[None]) -> None:
    """Go through `steps` until there is a request; later ones would hold the children up."""
    with contextlib.suppress(Exception):
        while not select.select([control], [], [], 0)[0]:
            next(steps)


def _answer_requests(
    control: socket.socket, serve: Serve, children: dict[int, int | None], idle: float | None
) -> None:
    while True:
        data, descriptors, _, _ = socket.recv_fds(control, _MESSAGE.size, 2)
        if len(data) < _MESSAGE.size:
            return
        command, pid = _MESSAGE.unpack(data)
        _reap(children)
        # Only who rests may end: one that is used has children that take as long as they need.
        control.settimeout(idle if command == _REST else None)
        if command == _REST:
            continue
        if command == _USE:
            answer = 0
        elif command == _FORK:
            answer = _fork(control, serve, *descriptors)
            children[answer] = None
        else:
            known = children.pop(pid)
            answer = _wait(pid) if known is None else known
        control.sendall(_ANSWER.pack(answer))


def _fork(control: socket.socket, serve: Serve, pipe: int, stderr: int) -> int:
    server = os.getpid()
    pid = os.fork()
    if pid:
        os.close(pipe)
        os.close(stderr)
        return pid
    try:
        end_with_parent(server)
        control.close()
        os.dup2(stderr, 2)
        os.close(stderr)
        serve(Connection(pipe))
        os._exit(0)
    except BaseException:  # nothing of the server's may run in a child
        os.write(2, traceback.format_exc().encode())
        os._exit(_FAILED)
