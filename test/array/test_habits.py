# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that what people know from numpy works, or says what it is called here."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.array as xa
from verify.arrays.programs import algorithms, assignment, shapes
from verify.arrays.programs.cases import PROGRAMS, check
from xyntra.array import _HOME_OF
from xyntra.errors import InputError

VALUES = np.arange(6.0).reshape(2, 3)


def test_axes_and_dtypes_may_be_positional_and_numpys_functions_call_methods() -> None:
    x = xa.asarray(VALUES)
    pairs = [
        (xa.sum(x, 0), VALUES.sum(0)),
        (xa.concat([x, x], 1), np.concat([VALUES, VALUES], 1)),
        (xa.zeros(2, xa.int32), np.zeros(2, np.int32)),
        (xa.argmax(x, 1), VALUES.argmax(1)),
        (xa.tril(x, 1), np.tril(VALUES, 1)),
        (xa.roll(x, 1, 1), np.roll(VALUES, 1, 1)),
        (np.sum(x), VALUES.sum()),
        (np.mean(x, axis=0), VALUES.mean(0)),
        (np.std(x, ddof=1), VALUES.std(ddof=1)),
        (x.var(0, ddof=1), VALUES.var(0, ddof=1)),
    ]
    xa.compute(*(found for found, _ in pairs))
    for found, expected in pairs:
        np.testing.assert_allclose(found.numpy(), expected)


def test_programs_of_numpy_give_the_same() -> None:
    homes = {PROGRAMS[name][0].__module__ for name in PROGRAMS}
    assert homes == {module.__name__ for module in (algorithms, assignment, shapes)}
    names = "masked_assign inplace_views nan_things zero_sizes several_axes overflow structure"
    assert check(names.split()) == []


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda x: xa.cumsum, "by the array API standard it is xa.cumulative_sum"),
        (lambda x: xa.nothing, "has no attribute 'nothing'$"),
        (lambda x: x.ravel(), r"write x.reshape\(-1\)"),
        (lambda x: x.nothing, "arrays have no attribute 'nothing'$"),
    ],
)
def test_names_of_numpy_say_what_they_are_called(call: Callable[[Any], Any], message: str) -> None:
    with pytest.raises(AttributeError, match=message):
        call(xa.asarray(VALUES))


def test_powers_that_are_no_integers_and_memory_for_results_are_refused() -> None:
    x = xa.asarray([2, 3])
    with pytest.raises(InputError, match="to the power -1 are no integers"):
        x**-1
    assert (x.astype(xa.float32) ** -1)[0].item() == 0.5
    with pytest.raises(InputError, match="take no out="):
        x.sum(out=x)


def test_every_name_is_where_the_table_says() -> None:
    names = {name for name in xa.__all__ if getattr(xa, name, None) is not None}
    assert names | {"newaxis"} == set(xa.__all__)
    assert set(_HOME_OF) <= set(dir(xa))
    for name in xa.linalg.__all__:
        assert callable(getattr(xa.linalg, name))
    assert xyntra.device is xa.device
