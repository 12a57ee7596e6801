# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times the steps of a plan on a GPU, by CUDA graphs of runs of steps.

An event between two launches costs as much as a short kernel, and launches one by one keep the GPU
waiting for the processor. So what is timed are graphs: one ends with a step, another ahead of it,
and the difference is the time of the step, as it is in a call, with the overlap of launches and
with what the steps before have left in the caches. Differences add up to the time of a call.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from itertools import pairwise
from statistics import median
from typing import Any

from xyntra.targets.cuda.driver.driver import checked, driver
from xyntra.targets.cuda.graphs.launches import BoundLaunch

__all__ = ["differences", "graph_time", "step_times"]

_PASSES = 5
_RUN = 32
"""Steps of a graph at most: the longer it is, the more its own noise hides of the last step."""
_AHEAD_NANOSECONDS, _AHEAD_STEPS = 300_000, 64
"""What the GPU is given to do meanwhile, so that it never waits for the processor."""
Step = tuple[str, Sequence[BoundLaunch]]
Graph = Callable[[int], None]
Measure = Callable[[tuple[int, ...], tuple[int, ...]], float]


def step_times(
    steps: Sequence[Step], stream: int, graph: Callable[[Sequence[BoundLaunch]], Graph]
) -> list[int]:
    """Run steps in order and return the nanoseconds of each, by events of the GPU.

    The first pass waits behind every step, so that an error names it. What the steps have written
    in the end is not what a call writes.

    Args:
        steps: a name for errors and the launches of each.
        stream: where they run.
        graph: makes launches into one that puts all of them on a stream.

    Raises:
        DeviceError: a step failed; its place is the name.
    """
    if not steps:
        return []
    cuda = driver()
    for place, launches in steps:
        for launch in launches:
            launch(stream)
        checked(cuda.cuStreamSynchronize(stream), "running a kernel", place)
    events = [checked(cuda.cuEventCreate(0), "creating an event") for _ in range(len(steps) + 1)]

    @lru_cache(maxsize=2 * _RUN)
    def run(numbers: tuple[int, ...]) -> Graph:
        launches = [launch for number in numbers for launch in steps[number][1]]
        return graph(launches) if launches else _nothing

    def measure(ahead: tuple[int, ...], timed: tuple[int, ...]) -> float:
        """Return the nanoseconds of some steps behind others."""
        return _behind(run(ahead), run(timed), events, stream)

    try:
        estimates = _between_events(steps, events, stream)
        return [round(each) for each in differences(measure, estimates)]
    finally:
        run.cache_clear()
        for event in events:
            cuda.cuEventDestroy(event)


def graph_time(graph: Graph, stream: int) -> int:
    """Return the nanoseconds of a graph behind itself, the least of a few runs."""
    cuda = driver()
    events = [checked(cuda.cuEventCreate(0), "creating an event") for _ in range(2)]
    try:
        return round(min(_behind(graph, graph, events, stream) for _ in range(_PASSES)))
    finally:
        for event in events:
            cuda.cuEventDestroy(event)


def _behind(ahead: Graph, timed: Graph, events: Sequence[Any], stream: int) -> float:
    """Return the nanoseconds of a graph that begins when the GPU has done another."""
    cuda = driver()
    first, last, *_ = events
    ahead(stream)
    checked(cuda.cuEventRecord(first, stream), "timing")
    timed(stream)
    checked(cuda.cuEventRecord(last, stream), "timing")
    checked(cuda.cuStreamSynchronize(stream), "timing")
    return float(checked(cuda.cuEventElapsedTime(first, last), "timing") * 1e6)


def _nothing(stream: int) -> None:
    """Put the launches of steps that have none on a stream."""


def differences(measure: Measure, estimates: Sequence[float]) -> list[float]:
    """Return the nanoseconds of each step, none below zero.

    Args:
        measure: times the steps of its second argument, which follow those of its first.
        estimates: nanoseconds of the steps, no less than they take.
    """
    found: list[float] = []
    for start in range(0, len(estimates), _RUN):
        numbers = range(start, min(start + _RUN, len(estimates)))
        ahead = _ahead(start, estimates)
        # The step ahead of them is in all graphs: what it costs to begin one is, too.
        runs = [(ahead[-1], *range(start, end)) for end in (start, *(n + 1 for n in numbers))]
        passes = [[measure(ahead, each) for each in runs] for _ in range(_PASSES)]
        found += _rises([median(times) for times in zip(*passes, strict=True)])
    return found


def _ahead(start: int, estimates: Sequence[float]) -> tuple[int, ...]:
    """Return steps that are ahead of one, in this call and those before, in order."""
    numbers: list[int] = []
    nanoseconds = 0.0
    while not numbers or (nanoseconds < _AHEAD_NANOSECONDS and len(numbers) < _AHEAD_STEPS):
        numbers.append((start - 1 - len(numbers)) % len(estimates))
        nanoseconds += estimates[numbers[-1]]
    return tuple(reversed(numbers))


def _rises(times: Sequence[float]) -> list[float]:
    """Return by how much each of longer and longer runs takes longer than the one before.

    Noise apart, none takes less: neighbours that contradict that are pooled (isotonic regression),
    and those that are one pool share its rise, since nothing tells them apart.
    """
    pools: list[tuple[float, int]] = []
    for each in times:
        mean, count = each, 1
        while pools and pools[-1][0] > mean:
            before, many = pools.pop()
            mean = (mean * count + before * many) / (count + many)
            count += many
        pools.append((mean, count))
    (first, count), *_ = pools
    found = [0.0] * (count - 1)
    for (before, _), (mean, count) in pairwise([(first, 0), *pools[1:]]):
        found += [(mean - before) / count] * count
    return found


def _between_events(steps: Sequence[Step], events: Sequence[Any], stream: int) -> list[float]:
    """Return the nanoseconds of the steps with an event behind each."""
    cuda = driver()
    checked(cuda.cuEventRecord(events[0], stream), "timing")
    for (place, launches), event in zip(steps, events[1:], strict=True):
        for launch in launches:
            launch(stream)
        checked(cuda.cuEventRecord(event, stream), "timing", place)
    checked(cuda.cuStreamSynchronize(stream), "timing")
    pairs = pairwise(events)
    return [checked(cuda.cuEventElapsedTime(*pair), "timing") * 1e6 for pair in pairs]
