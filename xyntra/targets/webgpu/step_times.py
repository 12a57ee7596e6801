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
_SPENT, _PASSES = 0.1, 100


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


def repeated(run: Callable[[], list[int]], first: Sequence[int], spent: float) -> list[int]:
    """Run steps until a while has been spent on it; return the shortest time of each.

    A GPU that has just waited for inputs runs at a fraction of its clock, and copies at half of its
    rate or less; it takes a while of work to raise it.

    Args:
        run: returns the nanoseconds of each step.
        first: those of a run that has been.
        spent: the seconds that it took.
    """
    passes = [list(first)]
    while spent < _SPENT and len(passes) < _PASSES:
        start = time.perf_counter()
        passes.append(run())
        spent += time.perf_counter() - start
    return [min(times) for times in zip(*passes, strict=True)]
