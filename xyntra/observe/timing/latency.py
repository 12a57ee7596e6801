# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times calls and says how long they take: percentiles of all of them, not of a sample."""

from __future__ import annotations

import time
from array import array
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass

from xyntra.observe.text import aligned, duration

__all__ = ["Latency", "latency", "latency_table", "time_calls"]

_LEAST_CALLS = 3
_MOST_CALLS = 1 << 22


@dataclass(frozen=True)
class Latency:
    """How long calls took, in nanoseconds.

    Attributes:
        calls: how many there were.
        mean, minimum, p50, p95, p99, maximum: a percentile is the smallest time that so many of a
            hundred calls did not exceed.
    """

    calls: int
    mean: float
    minimum: int
    p50: int
    p95: int
    p99: int
    maximum: int

    @property
    def per_second(self) -> float:
        """Calls a second, one after another."""
        return 1e9 / self.mean if self.mean else 0.0

    def to_json(self) -> dict[str, float]:
        """Return the attributes and `per_second` by name."""
        return {**asdict(self), "per_second": self.per_second}


def latency(nanoseconds: Sequence[int]) -> Latency:
    """Return what the times of calls, at least one, come to."""
    ordered = sorted(nanoseconds)
    count = len(ordered)

    def at(percent: int) -> int:
        return ordered[max(0, -(-count * percent // 100) - 1)]

    return Latency(count, sum(ordered) / count, ordered[0], at(50), at(95), at(99), ordered[-1])


def time_calls(call: Callable[[], object], seconds: float) -> Sequence[int]:
    """Call again and again for so many seconds; returns the nanoseconds of each call.

    There are three calls at least.
    """
    clock = time.perf_counter_ns
    found = array("q")
    end = clock() + int(seconds * 1e9)
    last = clock()
    while len(found) < _LEAST_CALLS or (last < end and len(found) < _MOST_CALLS):
        begin = clock()
        call()
        last = clock()
        found.append(last - begin)
    return found


def latency_table(by_name: dict[str, Latency]) -> list[str]:
    """Return a line for each program, ours first, with our p50 as a share of each other's."""
    rows = [["", "calls", "p50", "p95", "p99", "max", "calls/s", "ratio"]]
    first = next(iter(by_name.values()))
    for name, each in by_name.items():
        ratio = "" if each is first else f"{first.p50 / each.p50:.2f}"
        times = (each.p50, each.p95, each.p99, each.maximum)
        rows.append([name, str(each.calls), *map(duration, times), f"{each.per_second:.0f}", ratio])
    return aligned(rows, tuple(range(1, 8)))
