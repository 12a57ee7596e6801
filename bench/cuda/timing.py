# SPDX-License-Identifier: MIT OR Apache-2.0
"""Time on a GPU: work captured in CUDA graphs, replayed by turns, between events."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import torch

__all__ = [
    "captured",
    "copy_bandwidth",
    "host_microseconds",
    "launches_of",
    "microseconds_of_calls",
    "take_turns",
]

_WARM = 3
_COPIED = 1 << 30  # bytes
Work = Callable[[], object]


def launches_of(executable: Any, inputs: Iterable[Any], outputs: Iterable[Any]) -> Work:
    """Return what puts the launches of a call with tensors on a GPU on the current stream.

    It keeps the tensors: launches know only where these lie.
    """
    tensors = [*inputs, *outputs]
    launches = executable.launches([each.data_ptr() for each in tensors])

    def work() -> None:
        stream = torch.cuda.current_stream().cuda_stream
        for launch in launches:
            launch(stream)

    work.tensors = tensors  # type: ignore[attr-defined]
    return work


def captured(work: Work, count: int) -> Any:
    """Return a CUDA graph that does `work`, which launches on the current stream, `count` times."""
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        for _ in range(_WARM):
            work()
    torch.cuda.current_stream().wait_stream(stream)
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for _ in range(count):
            work()
    return graph


def take_turns(graphs: Mapping[str, Any], count: int, rounds: int) -> dict[str, float]:
    """Return the median microseconds of one piece of work, by entrant.

    Args:
        graphs: from `captured`.
        count: pieces of work in each.
        rounds: in each, every graph is replayed once, another one first.
    """
    names = list(graphs)
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    found: dict[str, list[float]] = {name: [] for name in names}
    for number in range(rounds):
        first = number % len(names)
        for name in names[first:] + names[:first]:
            events[0].record()
            graphs[name].replay()
            events[1].record()
            events[1].synchronize()
            found[name].append(events[0].elapsed_time(events[1]) * 1e3 / count)
    return {name: statistics.median(times) for name, times in found.items()}


def copy_bandwidth(rounds: int) -> float:
    """Return bytes a second that a copy reads and writes: the driver's, or that of a kernel."""
    source = torch.zeros(_COPIED // 4, device="cuda")
    target = torch.empty_like(source)
    graphs = {
        "driver": captured(lambda: target.copy_(source), 5),
        "kernel": captured(lambda: torch.neg(source, out=target), 5),
    }
    return 2 * _COPIED / min(take_turns(graphs, 5, rounds).values()) * 1e6


def microseconds_of_calls(work: Work, calls: int, rounds: int) -> float:
    """Return the median microseconds of `work` on the GPU's clock, called without a graph.

    Args:
        work: puts something on the current stream.
        calls: between two events.
        rounds: of so many calls.
    """
    events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
    times = []
    for _ in range(rounds + 1):
        events[0].record()
        for _ in range(calls):
            work()
        events[1].record()
        events[1].synchronize()
        times.append(events[0].elapsed_time(events[1]) * 1e3 / calls)
    return statistics.median(times[1:])


def host_microseconds(work: Work, calls: int, rounds: int) -> float:
    """Return the median microseconds that the processor spends on `work`, which does not wait.

    Args:
        work: puts something on a stream.
        calls: between two waits; few enough that the driver does not make the caller wait.
        rounds: of so many calls.
    """
    times = []
    for _ in range(rounds + _WARM):
        torch.cuda.synchronize()
        start = time.perf_counter()
        for _ in range(calls):
            work()
        times.append((time.perf_counter() - start) / calls * 1e6)
    return statistics.median(times[_WARM:])
