# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread pool: every iteration once, nested and crowded jobs, where workers are, the end."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
import threading
import time

import pytest
from pool_tasks import load_tasks, run

from xyntra.targets.cpu.threads.cores import allowed_cores, core_of_cpus
from xyntra.targets.cpu.threads.pool import WorkerTeam, default_threads, pool, team
from xyntra.targets.cpu.threads.pool_code import is_supported
from xyntra.targets.cpu.threads.pool_layout import HOME, MAX_WORKERS, SLOT_BYTES, SLOTS

pytestmark = pytest.mark.skipif(not is_supported(), reason="threads are for Linux")


@pytest.fixture(scope="module")
def tasks():
    return load_tasks()


@pytest.mark.parametrize("threads", [1, 2, 3, 7])
@pytest.mark.parametrize(
    ("count", "grain"), [(1, 1), (2, 1), (7, 3), (1000, 64), (4096, 1), (5, 9)]
)
def test_every_iteration_is_done_once(tasks, threads, count, grain):
    for _ in range(20):
        done, largest = run(tasks, team(threads), "count", count, grain)
        assert (done == 1).all()
        assert largest < threads


def test_a_job_within_a_job_runs_in_its_thread(tasks):
    done, _ = run(tasks, team(3), "nest", 50, cells=5000)
    assert (done == 1).all()


def test_jobs_of_several_threads_at_once(tasks):
    wrong = []

    def work():
        for _ in range(300):
            done, _ = run(tasks, team(2), "count", 500)
            if (done != 1).any():
                wrong.append(done)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    assert not wrong


def test_more_threads_than_there_can_be(tasks):
    assert WorkerTeam(1 << 20).threads == MAX_WORKERS + 1


@pytest.mark.skipif(len(set(core_of_cpus().values())) < 2, reason="needs two cores")
def test_no_worker_is_where_the_caller_is(tasks):
    """Whatever CPU the caller moves to, its worker goes elsewhere before the next job."""
    allowed = os.sched_getaffinity(0)
    cores = core_of_cpus()
    try:
        for cpu in [*allowed, *allowed]:
            os.sched_setaffinity(0, {cpu})
            run(tasks, team(2), "count", 100)
            slot = pool().address + SLOTS
            worker = ctypes.c_int32.from_address(slot + 24).value
            assert worker in set(cores.values()) - {cores[cpu]}
            assert ctypes.c_int32.from_address(pool().address + HOME).value == cores[cpu]
            assert not {cores[each] for each in cpus_of(slot)} & {cores[cpu]}
    finally:
        os.sched_setaffinity(0, allowed)


def cpus_of(slot: int) -> set[int]:
    mask = (ctypes.c_uint8 * 128)()
    thread = ctypes.c_uint64(ctypes.c_int64.from_address(slot + 16).value)
    assert ctypes.CDLL(None).pthread_getaffinity_np(thread, 128, mask) == 0
    return {8 * byte + bit for byte, bits in enumerate(mask) for bit in range(8) if bits >> bit & 1}


def test_slots_fill_whole_lines():
    assert SLOTS % 64 == 0
    assert SLOT_BYTES == 64
    assert pool().address % 64 == 0


def test_one_allowed_cpu_means_one_thread():
    allowed = os.sched_getaffinity(0)
    try:
        os.sched_setaffinity(0, {min(allowed)})
        assert default_threads() == 1
    finally:
        os.sched_setaffinity(0, allowed)
    assert default_threads() == allowed_cores() <= len(allowed)


_ENDS = """
import threading, time
from xyntra.targets.cpu.threads.pool import team
crew = team(5)
crew.assemble()
{last}
"""


@pytest.mark.parametrize("last", ["", "time.sleep(0.2)", "raise SystemExit(0)"])
def test_the_interpreter_ends_while_workers_wait(last):
    before = time.monotonic()
    code = _ENDS.format(last=last)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, timeout=60)
    assert done.returncode == 0, done.stderr.decode()
    assert time.monotonic() - before < 30
