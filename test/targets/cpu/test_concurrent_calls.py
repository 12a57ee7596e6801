# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls from several threads at once: the same numbers, no deadlock, and cheap waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence

import numpy as np
import pytest
from threaded_model import shared_input

from xyntra.errors import InputError
from xyntra.executable import Executable

CALLS = 25
LIMIT_SECONDS = 120.0
IDLE_SHARE = 0.1
Compiled = Callable[[int], Executable]


def run_together(jobs: Sequence[Callable[[], None]]) -> None:
    """Run every job in a thread of its own, from a common start; raise what one of them raises."""
    barrier = threading.Barrier(len(jobs))
    raised: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            barrier.wait(LIMIT_SECONDS)
            job()
        except BaseException as error:
            raised.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LIMIT_SECONDS)
        assert not thread.is_alive(), "a call does not come back"
    for error in raised:
        raise error


def checked_calls(exe: Executable, seed: int) -> Callable[[], None]:
    """A job that calls `exe` again and again, by turns in each way, and checks every result."""
    x = shared_input(seed)
    expected = exe(x)

    def job() -> None:
        out = [np.empty_like(array) for array in expected]
        for number in range(CALLS):
            if number % 2:
                exe(x, out=out)
            found = out if number % 2 else exe(x)
            for array, right in zip(found, expected, strict=True):
                np.testing.assert_array_equal(array, right)
            for array in out:
                array.fill(np.nan)

    return job


@pytest.mark.parametrize("threads", [1, 2, 3, 9])
def test_one_executable_in_four_threads(compiled: Compiled, threads: int) -> None:
    exe = compiled(threads)
    run_together([checked_calls(exe, seed) for seed in range(4)])


@pytest.mark.parametrize("threads", [(1, 1), (2, 2), (1, 2), (2, 5)])
def test_an_executable_for_each_of_two_threads(
    compiled: Compiled, threads: tuple[int, int]
) -> None:
    run_together([checked_calls(compiled(n), seed) for seed, n in enumerate(threads)])


def test_the_number_of_threads_changes_no_bit(compiled: Compiled) -> None:
    x = shared_input(3)
    expected = compiled(1)(x)
    for threads in (2, 3, 4, 7, 64):
        for found, right in zip(compiled(threads)(x), expected, strict=True):
            np.testing.assert_array_equal(found, right)


def test_errors_in_one_thread_leave_the_others_alone(compiled: Compiled) -> None:
    exe = compiled(2)
    wrong = np.zeros((1, 1), np.float32)

    def fail() -> None:
        for _ in range(CALLS):
            with pytest.raises(InputError):
                exe(wrong)
            with pytest.raises(InputError):
                exe(shared_input(0), out=[wrong, wrong])

    run_together([checked_calls(exe, 1), fail, checked_calls(exe, 2)])


def test_executables_come_and_go_while_others_run(compiled: Compiled) -> None:
    exe, x = compiled(2), shared_input(4)
    expected = exe(x)

    def come_and_go() -> None:
        for _ in range(CALLS):
            np.testing.assert_array_equal(compiled(2)(x)[0], expected[0])

    run_together([checked_calls(exe, 1), come_and_go, checked_calls(compiled(1), 2)])


def test_threads_that_wait_cost_nothing(compiled: Compiled) -> None:
    exe, x = compiled(2), shared_input(0)
    for _ in range(CALLS):
        exe(x)
    before = time.process_time()
    time.sleep(1.0)
    assert time.process_time() - before < IDLE_SHARE
