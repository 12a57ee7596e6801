# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels written in Python are recorded on lazy arrays, and fuse with what is around them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.array as xa
import xyntra.lang as xl
from xyntra.array.recorded import programs

pytestmark = pytest.mark.usefixtures("in_process")
SHIFT = np.arange(8, dtype=np.float32)


def rms_norm(x: Any, scale: Any, eps: float) -> Any:
    return x * xl.rsqrt(xl.mean(x * x, axis=-1, keepdims=True) + eps) * scale + SHIFT


def smallest_and_largest(x: Any) -> Any:
    return xl.min(x, axis=-1), xl.reduce(xl.maximum, x, axis=-1)


def test_a_kernel_is_one_with_what_is_around_it(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[Any] = []
    compiled = programs.compiled

    def noted(*args: Any, **kwargs: Any) -> Any:
        made.append(compiled(*args, **kwargs))
        return made[-1]

    monkeypatch.setattr(programs, "compiled", noted)
    x = np.random.default_rng(1).normal(size=(5, 8)).astype(np.float32)
    normed = xyntra.kernel(rms_norm)(xa.asarray(x) * 2 + 1, np.ones(8, np.float32), 1e-5)
    assert isinstance(normed, xa.Array)
    found = xa.tanh(normed).numpy()
    y = x.astype(np.float64) * 2 + 1
    wanted = np.tanh(y / np.sqrt((y * y).mean(-1, keepdims=True) + 1e-5) + SHIFT)
    np.testing.assert_allclose(found, wanted, atol=1e-5)
    assert [len(each.executable.kernels) for each in made] == [1]


def test_several_outputs_are_recorded_apart() -> None:
    kernel = xyntra.kernel(smallest_and_largest)
    x = xa.asarray(np.arange(12, dtype=np.float32).reshape(3, 4))
    results: Sequence[Any] = kernel(x * -1)
    assert [each.tolist() for each in results] == [[-3, -7, -11], [0, -4, -8]]
