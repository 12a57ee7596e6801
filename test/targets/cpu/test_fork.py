# SPDX-License-Identifier: MIT OR Apache-2.0
"""A forked child calls executables that its parent has loaded and used."""

from __future__ import annotations

import os
import select
import signal
import threading
import warnings
from collections.abc import Callable

import numpy as np
import pytest
from threaded_model import shared_input

from xyntra.executable import Executable

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
LIMIT_SECONDS = 60.0
Compiled = Callable[[int], Executable]


def in_child(function: Callable[[], object]) -> None:
    """Run `function` in a forked child; fail if it raises, crashes, or does not come back."""
    reading, writing = os.pipe()
    with warnings.catch_warnings():
        # Python 3.12 warns of forks where there are threads, which is what is tested.
        warnings.simplefilter("ignore", DeprecationWarning)
        pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException as error:
            os.write(writing, repr(error).encode()[:4000])
        finally:
            os._exit(code)
    os.close(writing)
    ended, _, _ = select.select([reading], [], [], LIMIT_SECONDS)
    if not ended:
        os.kill(pid, signal.SIGKILL)
    said = os.read(reading, 4000).decode() if ended else "the child does not come back"
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    assert status == 0, said or f"wait status {status}"


def check(exe: Executable, x: np.ndarray, expected: tuple[np.ndarray, ...]) -> None:
    for _ in range(5):
        for found, right in zip(exe(x), expected, strict=True):
            np.testing.assert_array_equal(found, right)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_a_child_calls_what_its_parent_has_called(compiled: Compiled, threads: int) -> None:
    exe, x = compiled(threads), shared_input(0)
    expected = exe(x)
    for _ in range(3):
        in_child(lambda: check(exe, x, expected))
        check(exe, x, expected)


def test_a_child_of_a_child(compiled: Compiled) -> None:
    exe, x = compiled(2), shared_input(1)
    expected = exe(x)

    def child() -> None:
        check(exe, x, expected)
        in_child(lambda: check(exe, x, expected))
        check(exe, x, expected)

    in_child(child)


def test_a_child_compiles(compiled: Compiled) -> None:
    exe, x = compiled(2), shared_input(2)
    expected = exe(x)
    in_child(lambda: check(compiled(3), x, expected))


def test_forks_while_other_threads_call(compiled: Compiled) -> None:
    exe, x = compiled(2), shared_input(3)
    expected = exe(x)
    stop = threading.Event()

    def call() -> None:
        while not stop.is_set():
            exe(x)

    callers = [threading.Thread(target=call, daemon=True) for _ in range(2)]
    for caller in callers:
        caller.start()
    try:
        for _ in range(10):
            in_child(lambda: check(exe, x, expected))
    finally:
        stop.set()
        for caller in callers:
            caller.join(LIMIT_SECONDS)
    assert not any(caller.is_alive() for caller in callers)
    check(exe, x, expected)
