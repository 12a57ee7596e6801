# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests Einstein sums against numpy, and what their equations may not say."""

from __future__ import annotations

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.errors import InputError

pytestmark = pytest.mark.usefixtures("in_process")
RANDOM = np.random.default_rng(11)
SIZES = [(3, 4, 5), (5, 6), (4, 4), (4, 3, 4), (1, 4)]
ARRAYS = [RANDOM.normal(size=each) for each in SIZES]
CASES = [
    ("ijk,kl->lij", (0, 1)), ("ijk,kl", (0, 1)), ("ii", (2,)), ("ii->i", (2,)), ("ij->ji", (2,)),
    ("ij->", (2,)), ("ji", (2,)), ("iji->j", (3,)), ("iji->ij", (3,)), ("...k,kl->...l", (0, 1)),
    ("ijk,jj,kl->il", (0, 2, 1)), ("i...->...", (0,)), ("ij,ij,ij->", (2, 2, 2)),
    ("...ij,...jk", (0, 1)), ("...,...->...", (2, 4)), ("ij,kl->ijkl", (1, 2)),
]  # fmt: skip


def test_equations_of_all_kinds_follow_numpy() -> None:
    given = [xa.asarray(each) for each in ARRAYS]
    found = [xa.einsum(equation, *(given[k] for k in which)) for equation, which in CASES]
    xa.compute(*found)
    for own, (equation, which) in zip(found, CASES, strict=True):
        expected = np.einsum(equation, *(ARRAYS[k] for k in which))
        assert own.shape == expected.shape, equation
        np.testing.assert_allclose(own.numpy(), expected, rtol=1e-12, err_msg=equation)


def test_wrong_equations_say_why() -> None:
    a, _, c, _, _ = (xa.asarray(each) for each in ARRAYS)
    for equation, operands, cause in (
        ("ij,jk", (a, c), "'ij' has not one letter for each of \\[3, 4, 5\\]"),
        ("ij->ik", (c,), "each letter of the result"),
        ("ij->ii", (c,), "each letter of the result"),
        ("ij", (c, c), "it names 1 arrays"),
        ("ijk,kl", (a, c), "dimension 'k' has the sizes 5 and 4"),
        ("...ijkl", (a,), "fewer dimensions than letters"),
        ("i-j", (c,), "not one letter"),
    ):
        with pytest.raises(InputError, match=cause):
            xa.einsum(equation, *operands)
