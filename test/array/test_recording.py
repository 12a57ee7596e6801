# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that operations are recorded, fused and kept, and what goes in and out."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array.recorded.evaluate import statistics
from xyntra.errors import InputError, UnsupportedError


def test_nothing_runs_before_a_value_is_needed() -> None:
    x = xa.ones((4, 5))
    y = xa.exp(x) * 2.0 + x
    assert y._node.value is None
    assert y.shape == (4, 5)
    assert float(y[0, 0]) == pytest.approx(2 * np.e + 1)


def test_the_same_graph_is_compiled_once_and_numbers_that_change_become_inputs() -> None:
    x = xa.asarray(np.arange(6, dtype=np.float32))
    before = statistics()
    for step in range(6):
        found = x * float(step) + 1.25
        np.testing.assert_allclose(found.numpy(), np.arange(6) * step + 1.25)
    after = statistics()
    assert after["graphs"] == before["graphs"] + 1
    assert after["executables"] <= before["executables"] + 3


def test_numbers_that_are_equal_or_not_by_their_bits() -> None:
    x = xa.asarray(np.ones(3, np.float32))
    for zero in (0.0, -0.0):
        expected = np.float32(np.copysign(np.inf, zero))
        assert ((x / (xa.full((3,), zero) * x)).numpy() == expected).all()
        assert (1.0 / xa.pad(x * 0.5, ((1, 0),), zero)).numpy()[0] == expected
        assert (x / (x * zero)).numpy()[0] == expected
    seen = []
    for _ in range(5):
        found = (x * float("nan") + xa.full((3,), float("nan"))).numpy()
        seen.append(statistics())
        assert np.isnan(found).all()
    assert seen[-1] == seen[0]


def test_what_the_program_holds_is_computed_along() -> None:
    x = xa.asarray(np.ones(3, np.float32))
    total = x
    for _ in range(3):
        total = total * 2.0
        assert float(total.sum()) > 0
    assert total._node.args == () or total._node.value is not None


def test_arrays_of_other_libraries_go_in_and_out() -> None:
    numbers = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = xa.asarray(numbers)
    numbers[0, 0] = 50.0
    assert float(x[0, 0]) == 0.0
    both: Any = numbers
    assert isinstance(both + x, xa.Array)
    assert np.from_dlpack(x).tolist() == x.tolist()
    assert np.asarray(x).flags.writeable is False
    torch = pytest.importorskip("torch")
    assert torch.from_dlpack(x).tolist() == x.tolist()
    assert xa.from_dlpack(torch.arange(3)).tolist() == [0, 1, 2]
    assert xa.asarray(torch.ones(2, dtype=torch.bfloat16)).dtype is xa.bfloat16


def test_arrays_without_elements() -> None:
    x = xa.zeros((0, 3))
    assert (x + 1.0).numpy().shape == (0, 3)
    assert xa.sum(x, axis=0).tolist() == [0, 0, 0]
    assert xa.concat([x, xa.ones((1, 3))]).tolist() == [[1, 1, 1]]
    assert (xa.zeros((2, 0)) @ xa.zeros((0, 2))).tolist() == [[0, 0], [0, 0]]
    with pytest.raises(InputError, match="no elements"):
        xa.max(x, axis=0)


def test_arrays_of_one_number_need_no_executable() -> None:
    before = statistics()
    pairs = [
        (xa.zeros((2, 3)), np.zeros((2, 3), np.float32)),
        (xa.full(4, -0.0), np.full(4, -0.0, np.float32)),
        (xa.full(2, xa.nan, dtype=xa.float64), np.full(2, np.nan)),
        (xa.ones(3, dtype=xa.int8), np.ones(3, np.int8)),
    ]
    for found, expected in pairs:
        value = found.numpy()
        assert value.dtype == expected.dtype
        np.testing.assert_array_equal(value, expected)
        np.testing.assert_array_equal(np.signbit(value), np.signbit(expected))
    assert statistics() == before


def test_random_numbers_are_those_of_philox() -> None:
    """The words of Random123's own test for a counter and a key of zeros."""
    bits = xa.random.Generator(0)._bits(4)
    assert [hex(each) for each in xa.arrays.wrap(bits).tolist()] == [
        "0x6627e8d5", "0xe169c58d", "0xbc57ac4c", "0x9b00dbd8",
    ]  # fmt: skip
    one, two = xa.random.Generator(5), xa.random.Generator(5)
    first, again = one.normal((1000,)), two.normal((1000,))
    assert first.tolist() == again.tolist()
    assert one.uniform((3,)).tolist() != again.tolist()[:3]
    assert abs(float(first.mean())) < 0.1
    assert float(first.std()) == pytest.approx(1, abs=0.1)
    draws = one.integers(-2, 3, (1000,)).numpy()
    assert set(draws.tolist()) == {-2, -1, 0, 1, 2}
    assert sorted(one.permutation(9).tolist()) == list(range(9))
    wide = one.uniform((64,), dtype=xa.float64).numpy()
    assert (wide.astype(np.float32) != wide).any()


def test_errors_name_shapes_and_the_line_of_the_program() -> None:
    with pytest.raises(InputError) as caught:
        xa.zeros((2, 3)) + xa.zeros((4, 3))
    assert "[2, 3] and [4, 3]" in caught.value.message
    assert (caught.value.place or "").split(":")[0] == __file__
    with pytest.raises(InputError, match=r"uint64.*do not meet"):
        xa.ones(1, dtype=xa.uint64) + xa.ones(1, dtype=xa.int8)
    with pytest.raises(InputError, match="does not fit"):
        xa.ones(1, dtype=xa.uint8) + 300
    with pytest.raises(UnsupportedError, match="complex"):
        xa.asarray([1j])
    with pytest.raises(InputError, match="no single number"):
        bool(xa.ones(2))
    with pytest.raises(InputError, match="do not make an array"):
        xa.asarray([[1], [1, 2]])
    with pytest.raises(InputError, match=r"\[2, 3\] and \[2, 3\] are not multiplied"):
        xa.zeros((2, 3)) @ xa.zeros((2, 3))


def test_importing_loads_no_other_library() -> None:
    code = """
import sys, xyntra.array as xa
own = [name for name in sys.modules if name.startswith("xyntra")]
xa.ones(3) + 1
print(own, "numpy" in sys.modules)
"""
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "['xyntra', 'xyntra.array'] False"
