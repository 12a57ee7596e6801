# SPDX-License-Identifier: MIT OR Apache-2.0
"""Times of steps are differences of runs, which add up to a call's. No GPU is needed."""

from __future__ import annotations

import random
from types import SimpleNamespace

import pytest

from xyntra.targets.cuda.calls import step_times as timing
from xyntra.targets.cuda.calls.step_times import differences, graph_time, step_times
from xyntra.targets.table import backend_for


@pytest.mark.parametrize("count", [1, 2, 31, 32, 33, 100])
def test_what_a_graph_costs_counts_for_no_step(count: int) -> None:
    generator = random.Random(count)
    taken = [generator.uniform(1e3, 2e4) for _ in range(count)]

    def measure(ahead: tuple[int, ...], timed: tuple[int, ...]) -> float:
        assert ahead
        assert timed[0] == ahead[-1]
        assert list(timed[1:]) == [n % count for n in range(timed[0] + 1, timed[0] + len(timed))]
        return 6e3 + sum(taken[number] for number in timed) + generator.uniform(0, 50)

    found = differences(measure, [each + 5e3 for each in taken])
    assert found == pytest.approx(taken, abs=60)
    assert sum(found) == pytest.approx(sum(taken), rel=0.05)


def test_steps_that_noise_makes_alike_share_their_time() -> None:
    # The last two runs took no longer than the one ahead of them.
    ends = {1: 100.0, 2: 200.0, 3: 320.0, 4: 310.0, 5: 300.0}
    found = differences(lambda ahead, timed: ends[len(timed)], [50.0] * 4)
    assert found == pytest.approx([100.0, 110 / 3, 110 / 3, 110 / 3])


def test_noise_makes_no_time_negative() -> None:
    generator = random.Random(7)
    found = differences(lambda ahead, timed: 1e4 + generator.uniform(0, 500), [1e3] * 40)
    assert min(found) >= 0


class Clock:
    """A driver whose events hold the time that launches have taken on its stream."""

    def __init__(self) -> None:
        self.now = 0.0
        self.events: list[float] = []
        self.destroyed: list[int] = []

    def functions(self) -> SimpleNamespace:
        return SimpleNamespace(
            cuEventCreate=self._create,
            cuEventRecord=self._record,
            cuEventElapsedTime=lambda a, b: (0, (self.events[b] - self.events[a]) / 1e6),
            cuEventDestroy=self.destroyed.append,
            cuStreamSynchronize=lambda stream: (0,),
        )

    def _create(self, flags: int) -> tuple[int, int]:
        self.events.append(0.0)
        return 0, len(self.events) - 1

    def _record(self, event: int, stream: int) -> tuple[int]:
        self.now += 900.0
        self.events[event] = self.now
        return (0,)

    def launch(self, nanoseconds: float) -> object:
        def put(stream: int) -> None:
            self.now += 2500.0 + nanoseconds  # alone; the processor is slow

        put.nanoseconds = nanoseconds
        return put

    def graph(self, launches: list) -> object:
        def put(stream: int) -> None:
            self.now += 4000.0 + sum(each.nanoseconds for each in launches)

        return put


def test_steps_of_no_launch_take_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "driver", clock.functions)
    steps = [("a", [clock.launch(3000.0)]), ("b", []), ("c", [clock.launch(n) for n in (700, 800)])]
    assert step_times(steps, 0, clock.graph) == [3000, 0, 1500]
    assert len(clock.destroyed) == len(clock.events)
    assert step_times([], 0, clock.graph) == []


@pytest.mark.parametrize(("nanoseconds", "launches"), [(0.0, 16), (3e3, 16), (2e4, 5), (1e6, 2)])
def test_short_kernels_are_timed_many_together(nanoseconds: float, launches: int) -> None:
    assert backend_for("sm_90a").timed_launches(nanoseconds) == launches


def test_a_graph_is_timed_behind_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock()
    monkeypatch.setattr(timing, "driver", clock.functions)
    assert graph_time(clock.graph([clock.launch(3000.0)] * 4), 0) == 4000 + 12_000 + 900
