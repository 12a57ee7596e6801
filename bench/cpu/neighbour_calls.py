# SPDX-License-Identifier: MIT OR Apache-2.0
"""Calls of Xyntra and of onnxruntime in one process, alone, by turns, or beside busy processes."""

from __future__ import annotations

import multiprocessing
import os
import signal
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.synchronize import Event
from typing import Any

import numpy as np

from bench.harness.runners import RUNNERS
from xyntra.compiler.worker.orphans import end_with_parent

__all__ = ["Busy", "Turn", "make_caller"]

_SILENT = 0.005
"""Seconds in which a process whose threads no longer spin uses less than a tenth of a processor."""
_LONGEST_SPIN = 1.0


@dataclass(frozen=True)
class Turn:
    """Asks for the seconds of single calls, after one that is not counted.

    Attributes:
        who: of the job's `callers`.
        after: the caller that is called before each call of `who`, and not timed; or None: then
            the turn begins when no thread of the process spins any more.
        seconds: call again and again for this long.
        least: but at least so often.
    """

    who: str
    after: str | None
    seconds: float
    least: int


def make_caller(job: Mapping[str, Any]) -> Callable[[Turn], list[float]]:
    """Load every caller of a job in this process and return what makes turns.

    Args:
        job: `callers`: by name, a job of `bench.harness.runners`; `inputs`: arrays by name.
    """
    end_with_parent()
    inputs: Mapping[str, np.ndarray] = job["inputs"]
    calls = {
        name: RUNNERS[each["runner"]](each).bind(inputs) for name, each in job["callers"].items()
    }

    def answer(turn: Turn) -> list[float]:
        before = calls[turn.after] if turn.after is not None else lambda: None
        if turn.after is None:
            _wait_for_silence()
        return _time(calls[turn.who], before, turn)

    return answer


def _time(call: Callable[[], object], before: Callable[[], object], turn: Turn) -> list[float]:
    call()
    times: list[float] = []
    end = time.perf_counter() + turn.seconds
    while len(times) < turn.least or time.perf_counter() < end:
        before()
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return times


def _wait_for_silence() -> None:
    end = time.perf_counter() + _LONGEST_SPIN
    while time.perf_counter() < end:
        before = time.process_time()
        time.sleep(_SILENT)
        if time.process_time() - before < _SILENT / 10:
            return


class Busy:
    """Processes that compute without end, stopped unless wanted.

    Args:
        count: how many.
    """

    def __init__(self, count: int) -> None:
        context = multiprocessing.get_context("spawn")
        ready = [context.Event() for _ in range(count)]
        self._processes = [
            context.Process(target=_spin, args=(event,), daemon=True) for event in ready
        ]
        for process in self._processes:
            process.start()
        for event in ready:
            event.wait()
        self._signal(range(count), signal.SIGSTOP)

    @contextmanager
    def running(self, count: int) -> Iterator[Sequence[int]]:
        """Let `count` of them run meanwhile; their numbers."""
        self._signal(range(count), signal.SIGCONT)
        try:
            yield [process.pid or 0 for process in self._processes[:count]]
        finally:
            self._signal(range(count), signal.SIGSTOP)

    def end(self) -> None:
        """End all of them."""
        for process in self._processes:
            process.kill()
            process.join()

    def _signal(self, which: Sequence[int], number: int) -> None:
        for index in which:
            pid = self._processes[index].pid
            if pid is not None:
                os.kill(pid, number)


def _spin(ready: Event) -> None:
    end_with_parent()
    ready.set()
    while True:
        pass
