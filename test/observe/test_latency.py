# SPDX-License-Identifier: MIT OR Apache-2.0
"""Percentiles are those of all calls, and tables say how we do beside a peer."""

from __future__ import annotations

from xyntra.observe.launches import launches_of
from xyntra.observe.timing.kernel_times import kernel_times
from xyntra.observe.timing.latency import latency, latency_table, time_calls
from xyntra.plan.plan import Plan

TIMES = [6000, 9000, 5000, 8000]


def test_percentiles() -> None:
    found = latency(list(range(1, 101)))
    assert (found.calls, found.minimum, found.p50, found.p95, found.p99, found.maximum) == (
        100, 1, 50, 95, 99, 100,
    )  # fmt: skip
    assert found.mean == 50.5
    only = latency([7])
    assert (only.p50, only.p95, only.p99, only.maximum) == (7, 7, 7, 7)


def test_calls_are_counted_and_at_least_three() -> None:
    calls: list[int] = []
    assert len(time_calls(lambda: calls.append(0), 0.0)) == len(calls) == 3
    assert len(time_calls(lambda: calls.append(0), 0.01)) > 3


def test_the_ratio_is_ours_to_the_other() -> None:
    lines = latency_table({"xyntra": latency([1000]), "other": latency([4000])})
    assert [line.split()[-1] for line in lines] == ["ratio", "1000000", "0.25"]


def test_kernels_are_listed_by_their_time(costed: Plan) -> None:
    lines = kernel_times(launches_of(costed, TIMES), 1)
    assert lines[1].split()[:4] == ["1", "2", "17", "us"]
    assert "row_1" in lines[1]
    assert lines[2] == "and 1 kernel more, 11 us together"
