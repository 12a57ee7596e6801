# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts what is bound anew, and which graphs are made, for addresses that come and go."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from xyntra.targets.cuda.graphs import replays as module
from xyntra.targets.cuda.graphs.replays import Replays


class Recorder:
    """Stands for what is loaded onto a GPU: notes what is bound, launched, and made a graph."""

    def __init__(self) -> None:
        self.bound: list[tuple[int, ...]] = []
        self.launched: list[tuple[int, ...]] = []
        self.graphs: list[Any] = []
        self.functions = ["function"]

    def arguments(self, step: Any, ports: dict[int, int]) -> tuple[list[int], int]:
        return [ports.get(buffer, -buffer) for buffer in step.buffers], 0

    def bind(self, pointers: list[int], scratch: int) -> list[Any]:
        key = tuple(pointers)
        self.bound.append(key)
        return [lambda _: self.launched.append(key)]

    def graph(self, launches: list[Any], *_: Any) -> Any:
        def replay(stream: int) -> None:
            for launch in launches:
                launch(stream)

        self.graphs.append(launches)
        replay.handle = len(self.graphs)  # type: ignore[attr-defined]
        return replay


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> Recorder:
    found = Recorder()
    monkeypatch.setattr(module, "LaunchGraph", found.graph)
    return found


def replays_of(recorder: Any) -> Replays:
    """Inputs 1 and 2, output 3; a step in between reads and writes the plan's own memory."""
    steps = [
        SimpleNamespace(once=False, kernel="k", buffers=b) for b in ([1, 4], [4, 5], [5, 2, 3])
    ]
    ports = [SimpleNamespace(buffer=buffer) for buffer in (1, 2, 3)]
    plan: Any = SimpleNamespace(
        aliases=(),
        inputs=ports[:2],
        results=ports[2:],
        steps=steps,
        argument_buffers=lambda step: step.buffers,
    )
    return Replays(plan, {"k": recorder}, recorder, 0, recorder)


def wanted(addresses: tuple[int, ...]) -> list[tuple[int, ...]]:
    a, b, c = addresses
    return [(a, -4), (-4, -5), (-5, b, c)]


def test_only_what_reads_other_memory_is_bound_anew(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    assert recorder.bound == [(-4, -5)]
    for addresses in ((16, 32, 48), (16, 32, 64), (16, 32, 80)):
        replays.at(addresses)(0)
    assert recorder.launched == [each for c in (48, 64, 80) for each in wanted((16, 32, c))]
    assert recorder.bound.count((16, -4)) == 1
    assert len(recorder.bound) == 1 + 1 + 3


def test_addresses_that_come_back_get_a_graph(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    for _ in range(5):
        recorder.launched.clear()
        replays.at((16, 32, 48))(0)
        assert recorder.launched == wanted((16, 32, 48))
    assert len(recorder.graphs) == 1


def test_graphs_that_are_hardly_used_are_not_made_for_ever(recorder: Recorder) -> None:
    replays = replays_of(recorder)
    many = [(16, 32, 48 + 16 * number) for number in range(12)]  # more than are kept
    for _ in range(10):
        for addresses in many:
            recorder.launched.clear()
            replays.at(addresses)(0)
            assert recorder.launched == wanted(addresses)
    assert 12 <= len(recorder.graphs) <= 20
