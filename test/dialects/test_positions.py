# SPDX-License-Identifier: MIT OR Apache-2.0
"""Sums of digits are what numpy's index arithmetic gives, or are refused."""

from __future__ import annotations

import numpy as np
import pytest
from evaluate import context

from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Digit, Position, compose, parse_map, to_map

EXTENTS = (4, 6, 5)
COUNTERS = np.indices(EXTENTS).reshape(len(EXTENTS), -1)


def value(position: Position) -> np.ndarray:
    """The position at every iteration."""
    total = np.full(COUNTERS.shape[1], position.constant)
    for digit, factor in position.terms:
        total += COUNTERS[digit.loop] // digit.divisor % digit.extent * factor
    return total


def loop(number: int) -> Position:
    return Position.of_loop(number, EXTENTS[number])


def test_a_loop_that_runs_once_stays_at_0() -> None:
    assert Position.of_loop(3, 1) == Position()


@pytest.mark.parametrize(
    ("position", "divisor"),
    [
        (loop(0), 2), (loop(1), 3), (loop(0) * 6 + loop(1), 6), (loop(0) * 6 + loop(1) + 12, 12),
        (loop(0) * 12 + loop(1) * 2, 4), (loop(2), 7), (loop(1), 1), (loop(0) * 9, 6),
    ],
)  # fmt: skip
def test_split_is_division(position: Position, divisor: int) -> None:
    parts = position.split(divisor)
    assert parts is not None
    np.testing.assert_array_equal(value(parts[0]), value(position) // divisor)
    np.testing.assert_array_equal(value(parts[1]), value(position) % divisor)


@pytest.mark.parametrize(
    ("position", "divisor"),
    [(loop(2), 2), (loop(0) + loop(1), 4), (loop(0) * -1 + 3, 2), (loop(1) + 1, 3)],
)
def test_split_refuses_what_does_not_line_up(position: Position, divisor: int) -> None:
    assert position.split(divisor) is None


def test_parts_join_again() -> None:
    parts = loop(1).split(2)
    assert parts is not None
    assert parts[0] * 2 + parts[1] == loop(1)
    assert parts[0] * 3 + parts[1] != loop(1)


def test_substitution_reads_digits_of_other_loops() -> None:
    upper = Position(((Digit(0, 6, 4), 1),))
    assert upper.substitute({0: loop(0) * 6 + loop(1)}) == loop(0)
    assert upper.substitute({0: loop(0) * 5 + loop(1)}) is None
    assert compose([upper, Position(constant=2)], {0: loop(0) * 5 + loop(1)}) is None


def test_bounds() -> None:
    position = loop(0) * 6 + loop(1) * -1 + 2
    assert (position.first, position.loops) == (-3, {0, 1})
    assert (loop(0) * 6 + loop(1) + 2).last == 25


@pytest.mark.parametrize(
    "text",
    [
        "d0 * 6 + d1",
        "d1 floordiv 2, d1 mod 2",
        "(d0 * 6 + d1) floordiv 6, 3",
        "(d1 floordiv 2) mod 3",
    ],
)
def test_maps_survive(text: str) -> None:
    with context():
        map_ = ir.AffineMapAttr.parse(f"affine_map<(d0, d1, d2) -> ({text})>").value
        positions = parse_map(map_, EXTENTS)
        assert positions is not None
        assert parse_map(to_map(positions, EXTENTS), EXTENTS) == positions
    for position, each in zip(positions, text.split(", "), strict=True):
        names = {f"d{i}": counter for i, counter in enumerate(COUNTERS)}
        python = each.replace("floordiv", "//").replace("mod", "%")
        wanted = eval(python, {}, names)  # noqa: S307  (text of the tests)
        np.testing.assert_array_equal(value(position), np.broadcast_to(wanted, COUNTERS[0].shape))


@pytest.mark.parametrize("text", ["d2 mod 2", "d0 ceildiv 2", "(d0 + d1) mod 4"])
def test_other_maps_are_refused(text: str) -> None:
    with context():
        map_ = ir.AffineMapAttr.parse(f"affine_map<(d0, d1, d2) -> ({text})>").value
        assert parse_map(map_, EXTENTS) is None
