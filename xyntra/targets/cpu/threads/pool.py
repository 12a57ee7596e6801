# SPDX-License-Identifier: MIT OR Apache-2.0
"""The thread pool of this process: its memory, its workers, and where they run.

Workers are native threads that never touch the interpreter: they need no lock of it, do not keep it
from exiting, and are no Python threads to anybody who counts these. Each of them is pinned to a
core, and none to the one that a call comes from: there its worker moves to the core that is free.
The caller's thread itself is never pinned. More workers than cores are not pinned, and sleep when
they have nothing to do.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import threading
import time
from functools import cache, lru_cache
from typing import Any

from xyntra.targets.cpu.interrupts import interrupts
from xyntra.targets.cpu.loader import ObjectLibrary
from xyntra.targets.cpu.threads.cores import allowed_cores, core_of_cpus
from xyntra.targets.cpu.threads.pool_code import is_supported, pool_source, serial_source
from xyntra.targets.cpu.threads.pool_layout import (
    ACTIVE,
    ALLOWED,
    CORES,
    HOME,
    KNOWN_CPUS,
    MAX_WORKERS,
    POOL_BYTES,
    SLOT_BYTES,
    SLOTS,
    WORKER_CLOCK,
    WORKER_CORE,
    WORKER_NUMBER,
    WORKER_POOL,
    WORKER_SPIN,
    WORKER_THREAD,
    WORKERS,
)

__all__ = ["WorkerTeam", "default_threads", "pool", "pool_objects", "team"]

_SPIN = 5000  # turns: some 100 us, in which the next call of a loop over calls comes
_LINE = 64


class WorkerTeam:
    """What a kernel is given to share its loops with: a function, the pool, a number, and a flag.

    Attributes:
        threads: how many threads work on one loop, the caller included.
        address: of the four words, as kernels read them.
        active: address of the pool's count of calls; 0 with one thread.
    """

    def __init__(self, threads: int) -> None:
        self.threads = min(threads, MAX_WORKERS + 1) if is_supported() else 1
        alone = self.threads == 1
        if alone:
            words = [_serial_for(), 0, 1]
        else:
            words = [pool().parallel_for, pool().address, self.threads]
        self._words = (ctypes.c_int64 * 4)(*words, interrupts().address)
        self.address = ctypes.addressof(self._words)
        self.active = 0 if alone else pool().address + ACTIVE

    def assemble(self) -> None:
        """Start what workers are missing."""
        if self.threads > 1:
            pool().grow(self.threads - 1)


class Pool:
    """Workers that wait for jobs in memory that is never freed."""

    def __init__(self) -> None:
        self._library = ObjectLibrary(pool_objects(), ["xyntra.worker"])
        self._library.keep_for_ever()
        self._memory = _immortal(POOL_BYTES + _LINE)
        start = ctypes.addressof(self._memory)
        self.address = start + -start % _LINE
        self.parallel_for = self._library.address("xyntra.parallel_for")
        self._reset()
        os.register_at_fork(after_in_child=self._reset)

    def _reset(self) -> None:
        """Forget all workers: a child that was forked has none."""
        ctypes.memset(self.address, 0, POOL_BYTES)
        self._lock = threading.Lock()
        self._wanted = 0
        self._workers = 0

    def grow(self, workers: int) -> None:
        """Have as many workers, or as many as the system allows."""
        if self._wanted >= workers:
            return
        with self._lock:
            if self._workers == 0:
                self._find_cores()
            while self._workers < min(workers, MAX_WORKERS) and self._start_worker():
                self._workers += 1
            self._wanted = max(workers, self._wanted)

    def _find_cores(self) -> None:
        cores = core_of_cpus()
        for cpu in range(KNOWN_CPUS):
            _i32(self.address + CORES + 4 * cpu).value = cores.get(cpu, cpu)
        self._free = sorted(set(cores.values()) - {_core_here(cores)})
        ctypes.memmove(self.address + ALLOWED, _mask(set(cores)), KNOWN_CPUS // 8)
        _i32(self.address + HOME).value = _core_here(cores)

    def _start_worker(self) -> bool:
        slot = self.address + SLOTS + SLOT_BYTES * self._workers
        core = self._free.pop(0) if self._free else -1
        ctypes.c_int64.from_address(slot + WORKER_POOL).value = self.address
        ctypes.c_int64.from_address(slot + WORKER_NUMBER).value = self._workers + 1
        _i32(slot + WORKER_CORE).value = core
        _i32(slot + WORKER_SPIN).value = _SPIN if core >= 0 else 0
        entry = ctypes.c_void_p(self._library.address("xyntra.worker"))
        if not _start_thread(slot + WORKER_THREAD, entry, slot):
            return False
        thread = ctypes.c_int64.from_address(slot + WORKER_THREAD).value
        _i32(slot + WORKER_CLOCK).value = time.pthread_getcpuclockid(thread)
        if core >= 0:
            _pin(thread, core)
        _i32(self.address + WORKERS).value = self._workers + 1
        return True


def default_threads() -> int:
    """Return how many threads a call uses where no setting says it."""
    return allowed_cores()


@lru_cache(maxsize=1)
def pool() -> Pool:
    """The pool of this process."""
    return Pool()


@cache
def team(threads: int) -> WorkerTeam:
    """The team of `threads` threads, which lives as long as the process."""
    return WorkerTeam(threads)


def pool_objects() -> dict[str, bytes]:
    """Compile the native code: object code by symbol name, for a `ObjectLibrary` to hold."""
    from xyntra.targets.cpu.codegen import compile_object

    return {"xyntra.parallel_for": compile_object(pool_source(), opt_level=0)}


@lru_cache(maxsize=1)
def _serial_library() -> ObjectLibrary:
    from xyntra.targets.cpu.codegen import compile_object

    return ObjectLibrary({"xyntra.serial_for": compile_object(serial_source(), opt_level=1)})


def _serial_for() -> int:
    return _serial_library().address("xyntra.serial_for")


def _start_thread(handle: int, entry: ctypes.c_void_p, argument: int) -> bool:
    """Start a thread that takes no signals: they are for those of the interpreter."""
    library: Any = ctypes.CDLL(None)
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    try:
        status = library.pthread_create(
            ctypes.c_void_p(handle), None, entry, ctypes.c_void_p(argument)
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return int(status) == 0


def _pin(thread: int, cpu: int) -> None:
    if cpu < KNOWN_CPUS:
        library: Any = ctypes.CDLL(None)
        library.pthread_setaffinity_np(ctypes.c_uint64(thread), KNOWN_CPUS // 8, _mask({cpu}))


def _mask(cpus: set[int]) -> ctypes.Array[ctypes.c_uint8]:
    mask = (ctypes.c_uint8 * (KNOWN_CPUS // 8))()
    for cpu in cpus:
        if cpu < KNOWN_CPUS:
            mask[cpu // 8] |= 1 << cpu % 8
    return mask


def _core_here(cores: dict[int, int]) -> int:
    cpu = int(ctypes.CDLL(None).sched_getcpu())
    return cores.get(cpu, cpu)


def _i32(address: int) -> ctypes.c_int32:
    return ctypes.c_int32.from_address(address)


def _immortal(nbytes: int) -> Any:
    """Zeroed memory that outlives the interpreter, since workers may look at it until the end."""
    memory = (ctypes.c_uint8 * nbytes)()
    with contextlib.suppress(AttributeError):
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(memory))
    return memory
