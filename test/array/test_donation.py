# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests results that are written over arguments of recorded functions."""

from __future__ import annotations

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array.arrays import node_of
from xyntra.errors import InputError


def _moved(state: dict[str, xa.Array], rate: xa.Array) -> tuple[dict[str, xa.Array], xa.Array]:
    """Write each array by what another one was before."""
    total = xa.sum(state["a"])
    return {name: each - rate * xa.sum(state["a"]) for name, each in state.items()}, total


def _state() -> dict[str, xa.Array]:
    return {"a": xa.asarray(np.arange(12, dtype=np.float32).reshape(3, 4)), "b": xa.ones((3, 4))}


def test_state_that_is_written_element_by_element_stays_where_it_lies() -> None:
    step = xa.jit(lambda x, rate: x * rate + 1, donate=(0,))
    x, rate = xa.ones((3, 4)), xa.asarray(0.5)
    places = set()
    for _ in range(3):
        x = step(x, rate)
        places.add(node_of(x).value.ctypes.data)
    assert len(places) == 1
    np.testing.assert_array_equal(x.numpy(), np.full((3, 4), 1.875))


def test_state_has_two_places_at_most() -> None:
    step = xa.jit(_moved, donate=(0,))
    state, rate = _state(), xa.asarray(0.25)
    expected = {name: each.numpy() for name, each in state.items()}
    places = set()
    for _ in range(4):
        sum_before = expected["a"].sum()
        expected = {name: each - 0.25 * sum_before for name, each in expected.items()}
        state, total = step(state, rate)
        assert float(total) == sum_before
        for name, each in expected.items():
            np.testing.assert_allclose(state[name].numpy(), each, rtol=1e-6)
        places.add(node_of(state["b"]).value.ctypes.data)
    assert len(places) <= 2


def test_what_others_see_is_kept() -> None:
    step = xa.jit(_moved, donate=(0,))
    state, rate = _state(), xa.asarray(0.25)
    view, shown = state["a"][1], np.asarray(state["b"])
    waiting = state["a"] * 2
    copy = xa.asarray(state["a"], copy=False)
    own = np.full((3, 4), 7, np.float32)
    adopted = {"a": xa.asarray(own, copy=False), "b": xa.asarray(own, copy=False)}
    step(state, rate)
    step(adopted, rate)
    np.testing.assert_array_equal(view.numpy(), [4, 5, 6, 7])
    np.testing.assert_array_equal(shown, np.ones((3, 4)))
    np.testing.assert_array_equal(waiting.numpy(), np.arange(12).reshape(3, 4) * 2)
    np.testing.assert_array_equal(copy.numpy(), np.arange(12).reshape(3, 4))
    np.testing.assert_array_equal(own, np.full((3, 4), 7))


def test_arrays_in_two_places_are_apart() -> None:
    step = xa.jit(_moved, donate=(0,))
    both = xa.ones((3, 4))
    found, _ = step({"a": both, "b": both}, xa.asarray(1.0))
    np.testing.assert_array_equal(found["a"].numpy(), found["b"].numpy())
    np.testing.assert_array_equal(found["a"].numpy(), np.full((3, 4), -11.0))


def test_an_argument_that_comes_back_is_not_written_over() -> None:
    step = xa.jit(lambda x, y: (x, x + y), donate=(0, 1))
    x, moved = step(xa.ones((2, 3)), xa.ones((2, 3)))
    np.testing.assert_array_equal(x.numpy(), np.ones((2, 3)))
    np.testing.assert_array_equal(moved.numpy(), np.full((2, 3), 2.0))


def test_a_lent_array_is_refused() -> None:
    step = xa.jit(lambda x: x + 1, donate=(0,))
    x = xa.ones((2, 3))
    step(x)
    with pytest.raises(InputError, match="writes over it") as caught:
        x.numpy()
    assert caught.value.code == "array-lent"


def _learnt(state: dict[str, xa.Array], x: xa.Array) -> tuple[dict[str, xa.Array], xa.Array]:
    """Write each array by a product that reads others, and itself where it is written."""
    slope = x.T @ (x @ state["w"])
    moment = 0.9 * state["m"] + 0.1 * slope
    return {"w": state["w"] - 0.1 * moment, "m": moment}, xa.sum(slope)


def test_states_that_no_kernel_writes_in_place_take_turns_between_two_places() -> None:
    step = xa.jit(_learnt, donate=(0,))
    drawn = np.random.default_rng(5)
    x = drawn.standard_normal((24, 40)).astype(np.float32)
    w, m = drawn.standard_normal((2, 40, 50)).astype(np.float32).astype(np.float64)
    state = {"w": xa.asarray(w.astype(np.float32)), "m": xa.asarray(m.astype(np.float32))}
    given = xa.asarray(x)
    places, addresses = set(), []
    for _ in range(6):
        m = 0.9 * m + 0.1 * (x.T.astype(np.float64) @ (x @ w))
        w = w - 0.1 * m
        state, _total = step(state, given)
        addresses.append(tuple(node_of(state[name]).value.ctypes.data for name in "wm"))
        places.update(addresses[-1])
        np.testing.assert_allclose(state["w"].numpy(), w, rtol=1e-3, atol=1e-3 * abs(w).max())
        np.testing.assert_allclose(state["m"].numpy(), m, rtol=1e-3, atol=1e-3 * abs(m).max())
    assert len(places) == 4
    assert addresses[1] == addresses[3] == addresses[5] != addresses[2] == addresses[4]
    explained = step.explain(state, given)
    assert "outputs that have memory of their own" in explained
    assert "state_copy" not in explained


def test_what_others_see_of_states_in_turns_is_kept() -> None:
    step = xa.jit(_learnt, donate=(0,))
    x = xa.ones((8, 4))
    state = {"w": xa.ones((4, 5)), "m": xa.zeros((4, 5))}
    seen = []
    for _ in range(3):
        shown = np.asarray(state["w"])
        seen.append((shown, shown.copy()))
        state, _total = step(state, x)
    for shown, before in seen:
        np.testing.assert_array_equal(shown, before)


def test_states_in_turns_may_change_their_type_between_calls() -> None:
    step = xa.jit(_learnt, donate=(0,))
    for size in (4, 6, 4):
        state = {"w": xa.ones((size, 5)), "m": xa.zeros((size, 5))}
        for _ in range(2):
            state, _total = step(state, xa.ones((8, size)))
        assert state["w"].shape == (size, 5)
