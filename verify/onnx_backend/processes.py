# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs tests in processes that a crash or a time limit may end, and goes on behind the test."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from multiprocessing.connection import Connection
from typing import Any

from verify.onnx_backend.cases import Outcome, run_test

__all__ = ["run_all"]

_SECONDS = 120.0
"""Longest time of one test."""


def run_all(
    make: Callable[[], Any],
    names: Sequence[str],
    jobs: int,
    done: Callable[[str, Outcome], None],
) -> None:
    """Run the tests `names` on the backend that `make` makes in each of `jobs` processes.

    Args:
        make: a function at the top of a module; returns the tests by name.
        names: of tests.
        jobs: how many run at the same time.
        done: called with the name and outcome of each.
    """
    with ThreadPoolExecutor(jobs) as pool:
        parts = [list(names[number::jobs]) for number in range(jobs)]
        for each in [pool.submit(_run_part, make, part, done) for part in parts]:
            each.result()


def _run_part(
    make: Callable[[], Any], names: Sequence[str], done: Callable[[str, Outcome], None]
) -> None:
    waiting = list(names)
    while waiting:
        count = _run_until_crash(make, waiting, done)
        del waiting[:count]


def _run_until_crash(
    make: Callable[[], Any], names: Sequence[str], done: Callable[[str, Outcome], None]
) -> int:
    """Run tests in one process; return how many came to an end, the one that ended it included."""
    context = multiprocessing.get_context("spawn")
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_serve, args=(sender, make, list(names)), daemon=False)
    process.start()
    sender.close()
    finished = 0
    try:
        receiver.recv()  # the tests are loaded
        for name in names:
            if not receiver.poll(_SECONDS):
                done(name, Outcome("crashed", "hang", f"no result after {_SECONDS:.0f} s"))
                return finished + 1
            done(name, receiver.recv())
            finished += 1
        return finished
    except EOFError:
        process.join()
        done(names[finished], Outcome("crashed", "exit", f"exit status {process.exitcode}"))
        return finished + 1
    finally:
        receiver.close()
        process.kill()
        process.join()


def _serve(sender: Connection, make: Callable[[], Any], names: Sequence[str]) -> None:
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    tests = make()
    sender.send(None)
    for name in names:
        sender.send(run_test(tests[name]))
