# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops of any kind: what threads share of them, in the emulator, which finds races."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import Array, launches_of, numbers

from xyntra.passes.lower.gpu.scan_sort import row_parts


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(
    ("rows", "length", "launch"),
    [(37, 3, (1, 128)), (5, 65, (2, 128)), (9, 64, (2, 128)), (2, 700, (2, 256)), (1, 4, (1, 32))],
)
def test_running_sums(
    rows: int, length: int, launch: tuple[int, int], exclusive: int, reverse: int
) -> None:
    how = {"exclusive": exclusive, "reverse": reverse}
    assert launches_of("CumSum", [numbers(rows, length)], np.array(1), **how) == [launch]


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize("shape", [(3, 5003), (1, 4096)])
def test_long_rows_are_summed_in_parts(
    shape: tuple[int, int], exclusive: int, reverse: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(row_parts, "_MIN_LENGTH", 1 << 12)
    how = {"exclusive": exclusive, "reverse": reverse}
    first, second = launches_of("CumSum", [numbers(*shape)], np.array(1), **how)
    assert first == second
    assert first[0] >= 4 * shape[0]


@pytest.mark.parametrize(("length", "threads"), [(5001, 1024), (5000, 1024), (9000, 1024)])
def test_running_sums_of_several_tiles(length: int, threads: int) -> None:
    assert launches_of("CumSum", [numbers(1, length)], np.array(1)) == [(1, threads)]


@pytest.mark.parametrize(
    ("length", "launch"), [(264, (3, 64)), (512, (1, 128)), (528, (3, 64)), (2048, (3, 128))]
)
def test_threads_sum_more_of_longer_rows(length: int, launch: tuple[int, int]) -> None:
    assert launches_of("CumSum", [numbers(3, length)], np.array(1), reverse=1) == [launch]


def test_running_sums_of_integers() -> None:
    values = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, (2, 3, 200))
    assert launches_of("CumSum", [values], np.array(2)) == [(6, 64)]


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_columns(axis: int) -> None:
    ((_, threads),) = launches_of("CumSum", [numbers(9, 7, 40)], np.array(axis))
    assert threads == 32


def test_running_sums_of_many_short_columns() -> None:
    ((_, threads),) = launches_of("CumSum", [numbers(2, 10, 36000)], np.array(1))
    assert threads == 128


@pytest.mark.parametrize("axis", [0, 1])
def test_scattering(axis: int) -> None:
    values, few = numbers(20, 30), numbers(20, 30)[:6, :4]
    order = np.argsort(numbers(20, 30), axis)[:6, :4]
    launches = launches_of("ScatterElements", [values, order, few], axis=axis)
    assert (1, 32) in launches


def test_scattering_rows() -> None:
    places = np.array([[3], [7], [0]])
    assert (1, 32) in launches_of("ScatterND", [numbers(9, 20), places, numbers(3, 20)])


def test_scattering_of_single_elements_keeps_its_order() -> None:
    places = np.array([[3, 1], [7, 2], [3, 1]])
    launches = launches_of("ScatterND", [numbers(9, 20), places, numbers(3)], reduction="add")
    assert (1, 1) in launches


def _updated(values: Array, places: Array, updates: Array, reduction: str) -> Array:
    """Updates in order; `places` are indices of the first dimensions."""
    combine = {"none": lambda _, new: new, "add": np.add, "max": np.maximum}[reduction]
    result = values.astype(np.float64)
    for place, update in zip(places, updates, strict=True):
        at = tuple(place)
        result[at] = combine(result[at], update)
    return result


@pytest.mark.parametrize("reduction", ["none", "add", "max"])
@pytest.mark.parametrize("shape", [(50, 20), (9, 7, 5), (30,), (20, 3)])
def test_many_updates_are_shared_and_keep_their_order(shape, reduction):
    depth = max(1, len(shape) - 1)
    places = np.random.default_rng(3).integers(-1, shape[0], (70, depth)) % shape[:depth]
    values, updates = numbers(*shape), numbers(70, *shape[depth:])
    right = _updated(values, places, updates, reduction)
    launches = launches_of(
        "ScatterND", [values, places, updates], expected=[right], reduction=reduction
    )
    assert launches[1] == launches[2] == (3, 32)
    assert len(launches) == (4 if reduction == "none" else 7)


@pytest.mark.parametrize("spread", [0, 1])
def test_long_lists_keep_their_order(spread: int) -> None:
    places = np.where(np.arange(70) % 9 == 0, spread * np.arange(70) // 2, 3)[:, None]
    values, updates = numbers(40, 3), numbers(70, 3)
    right = _updated(values, places, updates, "add")
    launches = launches_of(
        "ScatterND", [values, places, updates], expected=[right], reduction="add"
    )
    assert len(launches) == 7


@pytest.mark.parametrize("axis", [0, 1])
def test_elements_are_scattered_by_lists(axis):
    places = np.random.default_rng(3).integers(-20, 20, (17, 18))
    values, updates = numbers(20, 30) if axis == 0 else numbers(30, 20), numbers(17, 18)
    right = values.astype(np.float64)
    for at in np.ndindex(17, 18):
        there = (places[at], at[1]) if axis == 0 else (at[0], places[at])
        right[there] += updates[at]
    launches = launches_of(
        "ScatterElements", [values, places, updates], expected=[right], axis=axis, reduction="add"
    )
    assert len(launches) == 7


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(("shape", "axis"), [((2100, 5), 0), ((2, 530, 33), 1), ((700, 1, 40), 0)])
def test_long_columns_are_summed_in_parts(
    shape: tuple[int, ...], axis: int, exclusive: int, reverse: int
) -> None:
    how = {"exclusive": exclusive, "reverse": reverse}
    first, second = launches_of("CumSum", [numbers(*shape)], np.array(axis), **how)
    assert first == second
    assert first[0] > 4


@pytest.mark.parametrize("shape", [(8, 2), (300, 5), (100, 500), (257, 40)])
def test_short_columns_are_summed_in_one_launch(shape: tuple[int, int]) -> None:
    ((_, threads),) = launches_of("CumSum", [numbers(*shape)], np.array(0))
    assert threads in (32, 256)


def test_parts_of_columns_of_integers() -> None:
    values = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, (1700, 20))
    assert len(launches_of("CumSum", [values], np.array(0), exclusive=1, reverse=1)) == 2
