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


def test_state_stays_where_it_lies() -> None:
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
    assert len(places) == 1


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
