# SPDX-License-Identifier: MIT OR Apache-2.0
"""The reference of random graphs, where numpy's own einsum takes another way."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("ml_dtypes")

from verify.fusion.tensors import contract, convolve
from verify.fusion.values import Known


def known(value: np.ndarray) -> Known:
    return Known("float32", value, np.zeros(value.shape))


def test_a_repeated_infinity_meets_every_weight():
    """Infinities of both signs are summed up, also where a broadcast holds the left factor once."""
    left = np.broadcast_to(np.float64(-np.inf), (2, 3, 4))
    right = np.broadcast_to(np.array([1.0, -2.0, 3.0, 4.0]), (2, 5, 4))
    found = contract("abk,ack->abc", known(left), known(right))
    assert found.value.shape == (2, 3, 5)
    assert np.isnan(found.value).all()


def test_a_repeated_infinity_meets_every_tap():
    image = np.broadcast_to(np.float64(np.inf), (1, 2, 3, 3))
    taps = np.ones((2, 1, 2, 2))
    taps[:, :, 0, 0] = -1.0
    assert np.isnan(convolve(known(image), known(taps), (1, 1), 2).value).all()
