# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests views, writes and indices against numpy: both libraries run the same statements."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.errors import InputError

Program = Callable[[Any, Any], list[Any]]


def both(program: Program) -> None:
    """Run statements on our array and on numpy's, and compare all that they return."""
    start = np.arange(24, dtype=np.float32).reshape(4, 6)
    expected = program(np, start.copy())
    found = program(xa, xa.asarray(start))
    xa.compute(*found)
    for own, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(own.numpy(), other)


def test_writes_are_seen_through_views_and_in_the_base() -> None:
    def program(n: Any, x: Any) -> list[Any]:
        row, part, turned = x[1], x[1:3, ::2], x.T
        row[2] = 100.0
        part[:, 1] = n.asarray([7.0, 8.0], dtype=n.float32)
        turned[0, :] = -1.0
        x[3] += 1.0
        part *= 2.0
        deep = x[::-1][1:][:, 4]
        deep[0] = 55.0
        flat = x.reshape(-1)
        flat[-1] = 99.0
        apart = x.T.reshape(-1)
        apart[0] = 1234.0
        return [x, row, part, turned, deep, flat, apart]

    both(program)


def test_keys_of_all_kinds_read_and_write() -> None:
    def program(n: Any, x: Any) -> list[Any]:
        i, j = n.asarray([0, 3, -1]), n.asarray([1, 1, 5])
        mask = x > 10
        read = [
            x[i], x[i, j], x[1:, j], x[i[:, None], j], x[..., None, 2], x[-1, ::-2], x[mask],
            x[mask[:, 0]], x[2, j], x[None, i, 1:3], x[()],
        ]  # fmt: skip
        x[i, j] = n.asarray([5.0, 6.0, 7.0], dtype=n.float32)
        x[x > 20] = 0.0
        x[n.asarray([True, False, False, True])] = 3.0
        x[:, j[:1]] = 4.0
        x[0, ...] = n.asarray([9.0], dtype=n.float32)
        x[1:1] = 8.0
        return [*read, x]

    both(program)


def test_a_copy_is_no_view() -> None:
    x = xa.zeros(3)
    y, z = x.copy(), xa.asarray(x)
    x[0] = 1.0
    assert y.tolist() == [0, 0, 0]
    assert z is x


@pytest.mark.parametrize(
    ("statement", "code"),
    [
        (lambda x: x[4], "array-index"),
        (lambda x: x[0, 0, 0], "array-index"),
        (lambda x: x[xa.asarray([0, 9])], "array-index"),
        (lambda x: x[1.0], "array-index"),
        (lambda x: x[xa.asarray([True, False])], "array-index"),
        (lambda x: x.__setitem__(0, xa.zeros(5)), "array-broadcast"),
        (lambda x: xa.broadcast_to(x, (2, 4, 6)).__setitem__(0, 1.0), "array-read-only"),
        (lambda x: x.__iadd__(xa.zeros((2, 4, 6))), "array-broadcast"),
        (lambda x: xa.asarray([1, 2]).__iadd__(1.5), "array-dtypes"),
    ],
)
def test_wrong_keys_and_writes_are_refused(statement: Callable[[Any], Any], code: str) -> None:
    with pytest.raises(InputError) as caught:
        statement(xa.zeros((4, 6)))
    assert caught.value.code == code
