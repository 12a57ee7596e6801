# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels that take more than their prediction are named, those that lose most first."""

from __future__ import annotations

from dataclasses import replace

from xyntra.observe.explain import explain
from xyntra.observe.launches import launches_of
from xyntra.observe.lost_time import lost_time
from xyntra.plan.plan import Plan

TIMES = [6000, 9000, 5000, 8000]
"""Two products, predicted to take 4 us each, and two softmax, 1 us each, in turns."""


def test_most_lost_is_first(costed: Plan) -> None:
    found = lost_time(launches_of(costed, TIMES))
    assert [(lost.group.first.kernel.name, lost.nanoseconds) for lost in found] == [
        ("row_1", 15000.0),
        ("dot_1", 3000.0),
    ]
    assert [lost.factor for lost in found] == [8.5, 11 / 8]
    assert [lost.group.first.kernel.name for lost in lost_time(launches_of(costed, TIMES), 2)] == [
        "row_1"
    ]


def test_what_is_not_measured_or_predicted_is_left_out(costed: Plan) -> None:
    assert lost_time(launches_of(costed)) == []
    steps = tuple(replace(step, cost=None) for step in costed.steps)
    assert lost_time(launches_of(replace(costed, steps=steps), TIMES)) == []


def test_reasons(costed: Plan) -> None:
    def reason(*schedules: str) -> str:
        kernels = {
            name: replace(code, schedules=schedules) for name, code in costed.kernels.items()
        }
        return lost_time(launches_of(replace(costed, kernels=kernels), TIMES))[0].reason

    assert reason() == "its schedules are not recorded"
    assert reason("mma tile [64, 64]", "mma tile [64, 64]", "columns") == "made by mma, columns"
    assert reason("outputs").startswith("made by outputs (a thread for each element")


def test_the_report_marks_them(costed: Plan) -> None:
    lines = explain(costed, TIMES).splitlines()
    start = next(i for i, line in enumerate(lines) if line.startswith("far from their floor"))
    assert lines[start + 2].split()[:6] == ["1", "2", "15", "us", "53.6%", "8.5"]
    assert not lines[start + 3]
    assert "far from their floor" not in explain(costed, [4000, 1000, 4000, 1000])
    assert "far from their floor" not in explain(costed)
