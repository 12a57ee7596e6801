# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention whose mask and bias are arithmetic on positions: the kernel computes them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from emulator import run_artifact

import xyntra
import xyntra.lang as xl

HEADS, LENGTH, SIZE = 4, 256, 16
CAUSAL = np.tril(np.ones((LENGTH, LENGTH), bool))
APART = np.arange(LENGTH)[:, None] - np.arange(LENGTH)


def _slopes(q: Any, k: Any, v: Any, slopes: Any) -> Any:
    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        return s - slopes[h] * xl.astype(i - j, xl.float32)

    return xl.attention(q, k, v, score=score, causal=True)


def _near(q: Any, k: Any, v: Any, slopes: Any) -> Any:
    def score(s: Any, b: Any, h: Any, i: Any, j: Any) -> Any:
        apart = xl.astype(xl.maximum(i - j, -9), xl.float32)
        return 5 * xl.tanh(s / 5) + apart * xl.astype(2 - h, xl.float32)

    return xl.attention(q, k, v, score=score, mask=lambda b, h, i, j: (j <= i + 3) & (i - j < 70))


Case = tuple[Callable[..., Any], Callable[[np.ndarray, np.ndarray], np.ndarray]]
CASES: dict[str, Case] = {
    "slopes": (_slopes, lambda s, slopes: np.where(CAUSAL, s - slopes * APART, -np.inf)),
    "near": (
        _near,
        lambda s, _: np.where(
            (APART >= -3) & (APART < 70),
            5 * np.tanh(s / 5) + np.maximum(APART, -9) * (2 - np.arange(HEADS)[:, None, None]),
            -np.inf,
        ),
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_scores_by_positions_are_computed_in_the_kernel(name: str) -> None:
    function, scored = CASES[name]
    kernel = xyntra.kernel(target="cuda:sm_90a")(function)
    drawn = np.random.default_rng(8)
    q, k, v = drawn.standard_normal((3, 1, HEADS, LENGTH, SIZE)).astype(np.float16)
    slopes = (2.0 ** -np.arange(1, HEADS + 1)).astype(np.float32)
    artifact = kernel.compile(q, k, v, slopes).artifact
    assert not artifact.plan.fallbacks
    called = [step for step in artifact.plan.steps if not step.once]
    assert [artifact.plan.kernels[step.kernel].kind for step in called] == ["attention"]
    most = max(each.nbytes for each in artifact.plan.buffers)
    assert most < HEADS * LENGTH * LENGTH
    assert artifact.plan.kernels[called[0].kernel].scratch < HEADS * LENGTH * LENGTH
    given = [q, k, v, slopes][: len(artifact.plan.inputs)]
    (found,) = run_artifact(artifact, given, {})
    wide = [each[0].astype(np.float64) for each in (q, k, v)]
    scores = scored(wide[0] @ wide[1].swapaxes(1, 2) / SIZE**0.5, slopes[:, None, None])
    weights = np.exp(scores - scores.max(axis=-1, keepdims=True))
    wanted = weights / weights.sum(axis=-1, keepdims=True) @ wide[2]
    np.testing.assert_allclose(found[0], wanted, atol=8e-3)
