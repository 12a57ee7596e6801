# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels in Python on a GPU behind WebGPU compute what they do on the CPU."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xyntra
import xyntra.lang as xl
from xyntra.observe.summary import summary

pytestmark = pytest.mark.usefixtures("has_gpu")
RNG = np.random.default_rng(11)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


@xyntra.kernel
def layer_norm(x: Any, scale: Any, bias: Any, eps: float = 1e-5) -> Any:
    centred = x - xl.mean(x, axis=-1, keepdims=True)
    variance = xl.mean(centred * centred, axis=-1, keepdims=True)
    return centred / xl.sqrt(variance + eps) * scale + bias


@xyntra.kernel
def linear(x: Any, w: Any, b: Any) -> Any:
    return xl.gelu(x @ w + b)


@xyntra.kernel
def causal(q: Any, k: Any, v: Any) -> Any:
    return xl.attention(q, k, v, mask=lambda b, h, i, j: j <= i)


CASES = {
    layer_norm: (normal(33, 70), normal(70), normal(70)),
    linear: (normal(5, 37), normal(37, 19), normal(19)),
    causal: (normal(1, 2, 33, 16), normal(1, 2, 33, 16), normal(1, 2, 33, 16)),
}


@pytest.mark.parametrize("kernel", CASES, ids=lambda kernel: kernel.__name__)
def test_the_context_decides_where_arrays_of_numpy_are_computed(kernel: Any) -> None:
    given = CASES[kernel]
    expected = kernel(*given)
    with xyntra.device("webgpu"):
        assert "webgpu" in summary(kernel.compile(*given).artifact).lower()
        for _ in range(2):
            found = kernel(*given)
    np.testing.assert_allclose(found, expected, rtol=2e-5, atol=2e-6)
    assert "webgpu" not in summary(kernel.compile(*given).artifact).lower()
