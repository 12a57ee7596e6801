# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the zygote of workers, and the one of the processes that fork compilers of kernels.

The first is started by whoever compiles, and forks the second before it loads anything else: each
loads what it needs while the other does. A worker compiles one model. With it comes a fork server,
a child of the second zygote, whose children compile the kernels of that model and no others.
"""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import socket
from collections.abc import Iterator
from functools import partial
from importlib import import_module

from xyntra.compiler.worker.answers import MEMORY_VARIABLE, answer
from xyntra.compiler.worker.fork_server import ForkServer, close_files_but, serve_forks
from xyntra.compiler.worker.frames import read_frame, write_frame
from xyntra.compiler.worker.kept_zygote import IDLE
from xyntra.compiler.worker.orphans import end_with_parent
from xyntra.compiler.worker.pass_marks import mark_passes
from xyntra.compiler.worker.request import Purpose, Request
from xyntra.compiler.worker.surroundings import Surroundings
from xyntra.compiler.worker.zygote import FORK, Zygote
from xyntra.spans import span

__all__ = ["run_zygotes"]


def run_zygotes() -> None:
    """Fork workers until the socket at standard input is closed, or nobody has asked for long."""
    control = socket.socket(fileno=os.dup(0))
    with open(os.devnull, "rb") as nothing:
        os.dup2(nothing.fileno(), 0)
    os.chdir("/")
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    mark_passes()
    gc.disable()  # collecting while a model is compiled costs more than it frees
    workers = _Workers()
    Zygote(control, workers.prepare, workers.serve, workers.more, IDLE).run()
    os._exit(0)  # MLIR's teardown takes time and serves nobody


class _Workers:
    """What the zygote of workers loads, and what its children do."""

    def __init__(self) -> None:
        self._kernels: tuple[int, socket.socket] | None = None
        self._wanted: set[tuple[str, str]] = set()

    def prepare(self, purpose: bytes) -> list[int]:
        """Load what a worker needs; returns its end of a socket to its fork server, if it has one.

        That is asked for first: it is loaded by another process.
        """
        wanted = Purpose.from_bytes(purpose)
        files = [self._fork_server(wanted.architecture)] if wanted.kernels else []
        key = wanted.kind, wanted.architecture
        if key not in self._wanted:
            self._wanted.add(key)
            with contextlib.suppress(Exception):
                _load_levels(*key)
        return files

    def serve(self, purpose: bytes, files: list[int]) -> None:
        """Be a worker: answer one request."""
        requests, answers, messages, *servers = files
        for stream in (1, 2):
            os.dup2(messages, stream)
        os.close(messages)
        surroundings, data = read_frame(requests), read_frame(requests)
        if surroundings is None or data is None:
            return  # the caller does not want it any more
        _enter(surroundings)
        server = self._server(servers[0], surroundings) if servers else None
        write_frame(answers, answer(partial(_compile, data, server)))

    @staticmethod
    def _server(file: int, surroundings: bytes) -> ForkServer:
        control = socket.socket(fileno=file)
        with contextlib.suppress(OSError):  # it has died, which is found when it is needed
            write_frame(control.fileno(), surroundings)
        return ForkServer(control)

    def more(self) -> Iterator[None]:
        """Load what only some models need, and then use all of it once."""
        from xyntra.compiler.rehearsal import rehearse
        from xyntra.frontends.onnx.folding.fold import folded_operators
        from xyntra.frontends.onnx.node import load_importers

        load_importers()
        yield
        folded_operators()  # with their rules
        yield
        for architecture in sorted({architecture for _, architecture in self._wanted}):
            server = self._server(self._fork_server(architecture), Surroundings.here().to_bytes())
            try:
                rehearse(architecture, server)
            finally:
                server.stop()
            yield

    def _fork_server(self, architecture: str) -> int:
        ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._ask_for_server(architecture, theirs)
            except OSError:  # there is none yet, or it has died
                self._start_kernels()
                self._ask_for_server(architecture, theirs)
        return ours.detach()

    def _ask_for_server(self, architecture: str, theirs: socket.socket) -> None:
        if self._kernels is None or os.waitpid(self._kernels[0], os.WNOHANG)[0]:
            raise ConnectionError
        with open(os.devnull, "wb") as status:
            files = [status.fileno(), theirs.fileno()]
            socket.send_fds(self._kernels[1], [FORK + architecture.encode()], files)

    def _start_kernels(self) -> None:
        """Fork the other zygote, before this one has loaded much."""
        if self._kernels is not None:
            self._kernels[1].close()
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._kernels[0], 0)
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        workers = os.getpid()
        child = os.fork()
        if child:
            theirs.close()
            self._kernels = child, ours
            return
        try:
            end_with_parent(workers)
            close_files_but(theirs.fileno())  # also those of the worker that is about to be forked
            Zygote(theirs, _Kernels().prepare, _Kernels.serve).run()
        finally:
            os._exit(0)


class _Kernels:
    """What the zygote of fork servers loads, and what its children do."""

    def __init__(self) -> None:
        self._loaded: set[bytes] = set()

    def prepare(self, architecture: bytes) -> list[int]:
        """Load the compiler of kernels for a GPU, or for this processor."""
        from xyntra.compiler.kernels.kernel import load_compiler, load_emitters

        if architecture not in self._loaded:
            self._loaded.add(architecture)
            with contextlib.suppress(Exception):
                load_compiler(architecture.decode())
                for _ in load_emitters(architecture.decode()):
                    pass
        return []

    @staticmethod
    def serve(_: bytes, files: list[int]) -> None:
        """Be the fork server of one worker."""
        from xyntra.compiler.kernels.parallel import serve_kernel_sources

        control = socket.socket(fileno=files[0])
        surroundings = read_frame(control.fileno())
        if surroundings is not None:
            _enter(surroundings)
            serve_forks(control, serve_kernel_sources)


def _enter(data: bytes) -> None:
    surroundings = Surroundings.from_bytes(data)
    surroundings.enter()
    if surroundings.memory_limit is not None:
        os.environ[MEMORY_VARIABLE] = str(surroundings.memory_limit)


def _load_levels(kind: str, architecture: str) -> None:
    from xyntra.compiler.levels import load_levels
    from xyntra.compiler.model_import import PROGRAM_IMPORTERS

    load_levels(kind, architecture)
    if kind == "onnx":
        from xyntra.frontends.onnx import importer  # noqa: F401
    if kind in PROGRAM_IMPORTERS:
        import_module(PROGRAM_IMPORTERS[kind][0])


def _compile(data: bytes, server: ForkServer | None) -> bytes:
    from xyntra.compiler.compile_request import compile_request

    with span("answer a request", "compile"):
        return compile_request(Request.from_bytes(data), server=server)
