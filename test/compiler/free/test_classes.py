# SPDX-License-Identifier: MIT OR Apache-2.0
"""Classes of sizes: what they hold, and the sizes that schedules are chosen for."""

from __future__ import annotations

from math import prod

import pytest

from xyntra.compiler.free.classes import size_classes
from xyntra.compiler.free.samples import symbols_of

RANGES = (
    {"batch": (1, 16, 1), "seq": (1, 512, 1)},
    {"batch": (1, 32, 1)},
    {"n": (8, 64, 8)},
    {"a": (1, 3, 1), "b": (2, 90, 1), "c": (4, 4000, 4)},
    {"n": (1, 2, 1)},
)


@pytest.mark.parametrize("ranges", RANGES)
def test_usual_sizes_are_of_their_class_and_range(ranges: dict[str, tuple[int, int, int]]) -> None:
    classes = size_classes(symbols_of(ranges))
    limits = [each.limit[1] for each in classes if each.limit is not None]
    assert limits == sorted(limits)
    assert classes[-1].limit is None
    for each, limit in zip(classes, [*limits, None], strict=True):
        assert limit is None or prod(each.hints.values()) <= limit
        for name, size in each.hints.items():
            low, high, step = ranges[name]
            assert size in range(low, high + 1, step)
        whole = {name: (low, high) for name, (low, high, _) in ranges.items()}
        for name, (low, high) in each.narrowed(whole).items():
            assert whole[name][0] == low
            assert each.hints[name] <= high <= whole[name][1]


def test_the_last_class_is_for_the_largest_sizes() -> None:
    *_, largest = size_classes(symbols_of(RANGES[0]))
    assert largest.hints == {"batch": 16, "seq": 512}
    _, middle, _ = size_classes(symbols_of(RANGES[0]))
    assert middle.hints == {"batch": 8, "seq": 128}
