# SPDX-License-Identifier: MIT OR Apache-2.0
"""The learned model ranks schedules of shapes that it has not seen, and needs enough trials."""

from __future__ import annotations

import math

import pytest

from xyntra.dialects.attributes.schedule import Schedule
from xyntra.passes.lower.kernels.schedule_place import SchedulePlace
from xyntra.tune.learned import LearnedModel
from xyntra.tune.records import Trial, write_schedules
from xyntra.tune.space import KernelSpace

TILES = [
    Schedule("tiles", {"tile": (rows, columns)}) for rows in (2, 3, 5, 8) for columns in (8, 16)
]
LOOPS = Schedule("loops")


def text(rows: int, columns: int) -> str:
    kind = f"tensor<{rows}x{columns}xf32>"
    return f"func.func private @k(%a: tensor<{rows}x64xf32>) -> {kind} {{\n  …\n}}"


def ratio(schedule: Schedule, rows: int) -> float:
    """Large tiles are good, and what lies outside of the result is not."""
    if schedule == LOOPS:
        return 5.0
    height, width = schedule.choices["tile"]
    outside = math.ceil(rows / height) * height / rows
    return outside * (1.0 + 2.0 / height + 4.0 / width) / 1.5


def trials(sizes: list[int]) -> tuple[list[Trial], dict[str, str]]:
    found = [
        Trial(f"k{rows}", "d", "v", write_schedules((None, each)), "timed", ratio(each, rows), 1.0)
        for rows in sizes
        for each in [*TILES, LOOPS]
    ]
    return found, {f"k{rows}": text(rows, 64) for rows in sizes}


def test_it_ranks_schedules_of_other_shapes() -> None:
    pytest.importorskip("lightgbm")
    model = LearnedModel(*trials([16, 18, 20, 24, 25, 27, 30, 32, 33, 35, 40, 45, 48]))
    assert model.is_trained
    for rows in (36, 50):
        places = (SchedulePlace(None), SchedulePlace(LOOPS, (LOOPS, *TILES)))
        space = KernelSpace("k", "new", "contraction", text(rows, 64), (), 1, 1.0, places)
        first = model.first(space, 3)
        best = min(TILES, key=lambda each: ratio(each, rows))
        reached = min(ratio(each[1], rows) for each in first)
        assert reached <= 1.05 * ratio(best, rows)
        assert LOOPS not in [each[1] for each in first]


@pytest.mark.parametrize("sizes", [[], [16], [16, 18, 20]])
def test_few_trials_teach_nothing(sizes: list[int]) -> None:
    model = LearnedModel(*trials(sizes))
    assert not model.is_trained
    assert model.ratios(text(16, 64), [(LOOPS,)]) == [1.0]
    assert model.first(KernelSpace("k", "k", "row", "", (), 1, 1.0, ()), 5) == []
