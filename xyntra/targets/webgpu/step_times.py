# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times the steps of a plan on the clock of a GPU behind WebGPU."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from xyntra.targets.webgpu.adapter import wgpu_module
from xyntra.targets.webgpu.native import nanoseconds_of_a_tick

__all__ = ["Stamps", "repeated", "step_times"]

_QUERIES = 4096
"""WebGPU's limit of a query set."""
_STEPS = _QUERIES // 2
_SPENT, _AT_ONCE, _MOST = 0.3, 0.02, 64
"""Seconds of repeated runs, of runs in one command buffer, and how many are in one."""


@dataclass(frozen=True)
class Stamps:
    """Where a GPU writes the times at which a step begins and ends.

    Attributes:
        queries: the query set.
        first: number of the beginning's query; the end's is the next.
    """

    queries: Any
    first: int

    def writes(self, *, begins: bool, ends: bool) -> Mapping[str, Any] | None:
        """Return what a compute pass writes that begins or ends the step; None for nothing."""
        places = {"beginning_of_pass_write_index": self.first} if begins else {}
        places |= {"end_of_pass_write_index": self.first + 1} if ends else {}
        return {"query_set": self.queries, **places} if places else None


def step_times(
    device: Any, steps: Sequence[int], encode: Callable[[Any, int, Stamps], None]
) -> list[int]:
    """Run steps in order, in one command buffer, and return the nanoseconds of each.

    Args:
        device: wgpu's.
        steps: their numbers.
        encode: puts a step into a command encoder.
    """
    usage = wgpu_module().BufferUsage
    encoder, resolved = device.create_command_encoder(), []
    for start in range(0, len(steps), _STEPS):
        part = steps[start : start + _STEPS]
        count = 2 * len(part)
        queries = device.create_query_set(type="timestamp", count=count)
        for place, number in enumerate(part):
            encode(encoder, number, Stamps(queries, 2 * place))
        flags = usage.QUERY_RESOLVE | usage.COPY_SRC
        resolved.append(device.create_buffer(size=8 * count, usage=flags))
        encoder.resolve_query_set(queries, 0, count, resolved[-1], 0)
    device.queue.submit([encoder.finish()])
    unit = nanoseconds_of_a_tick(device)
    found: list[int] = []
    for buffer in resolved:
        stamps = np.frombuffer(device.queue.read_buffer(buffer), np.uint64).reshape(-1, 2)
        found += [max(0, round((int(end) - int(start)) * unit)) for start, end in stamps]
    return found


def repeated(run: Callable[[int], list[int]], first: Sequence[int], spent: float) -> list[int]:
    """Run steps until a while has been spent on it; return the shortest time of each.

    A GPU that waits lowers its clock: one that had just waited for inputs, or waited between runs,
    copied at half of its rate. Runs are therefore started many at once, and for a while.

    Args:
        run: runs the steps so many times, and returns the nanoseconds of each.
        first: those of a run that has been.
        spent: the seconds that it took.
    """
    found = np.array(first, np.int64).reshape(1, -1)
    count = int(min(_MOST, max(1, _AT_ONCE * 1e9 // max(1, found.sum()))))
    while spent < _SPENT and first:
        start = time.perf_counter()
        times = np.array(run(count), np.int64).reshape(count, -1)
        found = np.concatenate([found, times]).min(axis=0, keepdims=True)
        spent += time.perf_counter() - start
    return [int(each) for each in found[0]]
