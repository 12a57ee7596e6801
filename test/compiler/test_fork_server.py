# SPDX-License-Identifier: MIT OR Apache-2.0
"""The process that loads the compiler and forks the children that use it."""

from __future__ import annotations

import os
import signal
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")

from xyntra.compiler.worker.fork_server import ForkServer, Serve  # noqa: E402

LOADED: list[str] = []


def echo(pipe):
    while True:
        try:
            pipe.send((pipe.recv(), LOADED, os.getpid()))
        except EOFError:
            return


def ends(pid: int) -> bool:
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        time.sleep(0.01)
    return False


@contextmanager
def started(
    serve: Serve = echo,
    load: Callable[[], None] = lambda: None,
    more: Callable[[], Iterator[None]] = lambda: iter(()),
) -> Iterator[ForkServer]:
    server = ForkServer.start(load, serve, more=more)
    try:
        yield server
    finally:
        server.stop()


def test_children_find_what_the_server_has_loaded():
    with started(load=lambda: LOADED.append("library")) as server, tempfile.TemporaryFile() as err:
        answers = []
        for number in range(3):
            pid, pipe = server.fork(err.fileno())
            pipe.send(number)
            answers.append(pipe.recv() == (number, ["library"], pid))
    assert answers == [True] * 3
    assert LOADED == []


def test_a_child_sees_the_end_of_its_own_pipe_while_others_live():
    with started() as server, tempfile.TemporaryFile() as err:
        pid, pipe = server.fork(err.fileno())
        _, other = server.fork(err.fileno())
        pipe.close()
        assert server.exit_status(pid) == 0
        other.send("still there")
        assert other.recv()[0] == "still there"


@pytest.mark.parametrize(("end", "status"), [(lambda: os._exit(3), 3), (lambda: 1 / 0, 1)])
def test_what_ends_a_child_is_known(end, status):
    with started(lambda pipe: end()) as server, tempfile.TemporaryFile() as err:
        pid, _ = server.fork(err.fileno())
        assert server.exit_status(pid) == status
        err.seek(0)
        assert (b"ZeroDivisionError" in err.read()) == (status == 1)


def test_a_signal_is_a_negative_status():
    def die(pipe):
        os.kill(os.getpid(), signal.SIGKILL)

    with started(die) as server, tempfile.TemporaryFile() as err:
        pid, _ = server.fork(err.fileno())
        assert server.exit_status(pid) == -signal.SIGKILL


def test_loading_that_fails_is_left_to_the_children():
    def fail():
        raise OSError("no such library")

    with started(load=fail) as server, tempfile.TemporaryFile() as err:
        _, pipe = server.fork(err.fileno())
        pipe.send("here")
        assert pipe.recv()[0] == "here"


def test_stopping_ends_children_that_are_busy():
    with started(lambda pipe: time.sleep(60)) as server, tempfile.TemporaryFile() as err:
        pid, _ = server.fork(err.fileno())
    assert ends(pid)


def test_stopping_does_not_wait_for_loading():
    start = time.monotonic()
    with started(load=lambda: time.sleep(60)):
        pass
    assert time.monotonic() - start < 20


def test_a_server_that_died_is_an_error():
    with (
        started(load=lambda: os._exit(1)) as server,
        tempfile.TemporaryFile() as err,
        pytest.raises(ConnectionError),
    ):
        server.fork(err.fileno())


def test_more_is_loaded_until_a_child_is_asked_for():
    ours, theirs = os.pipe()

    def more() -> Iterator[None]:
        LOADED.append("first")
        yield
        LOADED.append("second")
        yield
        os.write(theirs, b"x")
        while True:
            time.sleep(0.01)
            yield

    with (
        started(load=lambda: LOADED.append("library"), more=more) as server,
        tempfile.TemporaryFile() as err,
    ):
        assert os.read(ours, 1) == b"x"
        pid, pipe = server.fork(err.fileno())
        pipe.send("here")
        assert pipe.recv() == ("here", ["library", "first", "second"], pid)
    os.close(ours)
    os.close(theirs)


def test_more_that_fails_to_load_is_left_to_the_children():
    def more() -> Iterator[None]:
        yield
        raise OSError("no such library")

    with started(more=more) as server, tempfile.TemporaryFile() as err:
        time.sleep(0.1)
        _, pipe = server.fork(err.fileno())
        pipe.send("here")
        assert pipe.recv()[0] == "here"
