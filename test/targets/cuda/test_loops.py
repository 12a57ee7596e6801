# SPDX-License-Identifier: MIT OR Apache-2.0
"""Loops of any kind: what threads share of them, in the emulator, which finds races."""

from __future__ import annotations

import numpy as np
import pytest
from one_operator import launches_of, numbers


@pytest.mark.parametrize("exclusive", [0, 1])
@pytest.mark.parametrize("reverse", [0, 1])
@pytest.mark.parametrize(("rows", "length", "threads"), [(3, 65, 32), (1, 700, 256)])
def test_running_sums(rows: int, length: int, threads: int, exclusive: int, reverse: int) -> None:
    how = {"exclusive": exclusive, "reverse": reverse}
    launches = launches_of("CumSum", [numbers(rows, length)], np.array(1), **how)
    assert launches == [(rows, threads)]


def test_running_sums_of_several_tiles() -> None:
    assert launches_of("CumSum", [numbers(1, 5000)], np.array(1)) == [(1, 1024)]


def test_running_sums_of_integers() -> None:
    values = np.random.default_rng(5).integers(-(1 << 40), 1 << 40, (2, 3, 200))
    assert launches_of("CumSum", [values], np.array(2)) == [(6, 64)]


@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums_of_columns(axis: int) -> None:
    ((_, threads),) = launches_of("CumSum", [numbers(9, 7, 40)], np.array(axis))
    assert threads == 32


@pytest.mark.parametrize("count", [5, 70])
def test_best_elements(count: int) -> None:
    values = numbers(40, 70)
    values[3, 4:9] = values[3, 20]
    launches = launches_of("TopK", [values], np.array([count]), axis=1)
    assert launches[-1] == (2, 32)


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
