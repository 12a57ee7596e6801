# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread pool where others want its cores, or its workers do not come."""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext

import numpy as np
import onnxruntime
import pytest
from pool_tasks import TURNS, load_tasks, run
from threaded_model import shared_input, shared_model

from xyntra.executable import Executable
from xyntra.targets.cpu.threads.cores import core_of_cpus
from xyntra.targets.cpu.threads.pool import WorkerTeam, pool, team
from xyntra.targets.cpu.threads.pool_code import is_supported
from xyntra.targets.cpu.threads.pool_layout import (
    KNOWN_CPUS,
    RESCUES,
    SLOTS,
    WORKER_MOVED,
    WORKER_ROAMS,
)

pytestmark = pytest.mark.skipif(not is_supported(), reason="threads are for Linux")
LIMIT_SECONDS = 120.0
NEIGHBOURS = 4
Compiled = Callable[[int], Executable]
_BUSY = (
    "import os\nos.sched_setaffinity(0, {%d})\nprint(flush=True)\nwhile os.getppid() == %d: pass"
)


@pytest.fixture(scope="module")
def tasks():
    return load_tasks()


def word(offset: int) -> int:
    return ctypes.c_int32.from_address(pool().address + offset).value


@contextmanager
def crowded(cpu: int) -> Iterator[None]:
    """Let some processes keep a CPU busy."""
    code = _BUSY % (cpu, os.getpid())
    command = [sys.executable, "-c", code]
    busy = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(NEIGHBOURS)]
    try:
        for process in busy:
            assert process.stdout is not None
            assert process.stdout.readline() == b"\n"
        yield
    finally:
        for process in busy:
            process.kill()
            process.communicate()


@contextmanager
def caller_on(cpu: int) -> Iterator[None]:
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {cpu})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


@contextmanager
def interrupted() -> Iterator[None]:
    """Let a signal come every two milliseconds, which ends a sleep of the caller."""
    before = signal.signal(signal.SIGALRM, lambda *_: None)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def worker_cpus() -> set[int]:
    """The CPUs on which the first worker may run."""
    mask = (ctypes.c_uint8 * (KNOWN_CPUS // 8))()
    thread = ctypes.c_uint64(ctypes.c_int64.from_address(pool().address + SLOTS + 16).value)
    assert ctypes.CDLL(None).pthread_getaffinity_np(thread, len(mask), mask) == 0
    return {cpu for cpu in range(KNOWN_CPUS) if mask[cpu // 8] >> cpu % 8 & 1}


def is_pinned() -> bool:
    return word(SLOTS + WORKER_ROAMS) == 0


def until(done: Callable[[], bool], step: Callable[[], None]) -> None:
    end = time.monotonic() + LIMIT_SECONDS
    while not done():
        assert time.monotonic() < end
        step()


@pytest.mark.skipif(len(set(core_of_cpus().values())) < 2, reason="needs two cores")
@pytest.mark.parametrize("with_signals", [False, True])
def test_a_worker_without_a_core_is_taken_to_the_callers(tasks, with_signals):
    """What it holds is done there; then it may go anywhere else, and is pinned again when calm."""
    crew = team(2)
    crew.assemble()
    here = min(os.sched_getaffinity(0))
    cores = core_of_cpus()
    home = {cpu for cpu, core in cores.items() if core == cores[here]}

    def small() -> None:
        run(tasks, crew, "count", 100)

    def large() -> None:
        done, _ = run(tasks, crew, "slow", 40_000)
        assert (done == TURNS).all()
        assert word(SLOTS + WORKER_MOVED) == 0
        assert not worker_cpus() & home

    with caller_on(here):
        small()
        until(is_pinned, small)
        before = word(RESCUES)
        with crowded(min(worker_cpus())), interrupted() if with_signals else nullcontext():
            until(lambda: word(RESCUES) > before, large)
        assert not is_pinned()
        assert worker_cpus() == set(cores) - home
        until(is_pinned, small)
        assert len(worker_cpus()) == 1


@pytest.mark.parametrize("task", ["count", "slow"])
def test_workers_that_never_come_hold_up_nobody(tasks, task):
    """A caller does everything itself where none of the team has been started."""
    crew = WorkerTeam(1000)
    for _ in range(20):
        done, _ = run(tasks, crew, task, 1000, assemble=False)
        assert (done == (TURNS if task == "slow" else 1)).all()


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_calls_by_turns_with_threads_that_spin(compiled: Compiled, threads: int) -> None:
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 2
    session = onnxruntime.InferenceSession(
        shared_model().SerializeToString(), options, providers=["CPUExecutionProvider"]
    )
    exe, x = compiled(threads), shared_input(7)
    expected = exe(x)
    name = session.get_inputs()[0].name
    for _ in range(25):
        session.run(None, {name: x})
        for found, right in zip(exe(x), expected, strict=True):
            np.testing.assert_array_equal(found, right)
