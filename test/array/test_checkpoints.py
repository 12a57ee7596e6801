# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests that what a checkpointed function computes is computed again, and takes less memory."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array.recorded import programs
from xyntra.observe.timing.live_memory import live_bytes

pytestmark = pytest.mark.usefixtures("in_process")
RANDOM = np.random.default_rng(2)
LAYERS = [RANDOM.normal(size=(16, 64)) / 4 for _ in range(10)]


def block(h: Any, w: Any) -> Any:
    return h + xa.tanh(xa.softmax(h @ w)) @ w.T


def captured(w: Any) -> Any:
    return xa.checkpoint(lambda h: block(h, w))


KINDS: dict[str, Any] = {
    "kept": block,
    "arguments": xa.checkpoint(block),
    "captured": lambda h, w: captured(w)(h),
    "nested": xa.checkpoint(lambda h, w: xa.checkpoint(block)(h, w)),
}


def loss(kind: str) -> Any:
    def found(x: Any, layers: Any) -> Any:
        for w in layers:
            x = KINDS[kind](x, w)
        return xa.mean(x * x)

    return found


def test_gradients_are_the_same_and_take_less_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    peaks: dict[str, int] = {}
    compiled = programs.compiled

    def noted(*arguments: Any) -> Any:
        made = compiled(*arguments)
        peaks[kind] = max(live_bytes(made.executable.artifact.plan))
        return made

    monkeypatch.setattr(programs, "compiled", noted)
    x, layers = xa.asarray(RANDOM.normal(size=(96, 16))), [xa.asarray(w) for w in LAYERS]
    results = {}
    for kind in KINDS:
        slopes = xa.jit(xa.grad(loss(kind), (0, 1)))(x, layers)
        results[kind] = [each.numpy() for each in (slopes[0], *slopes[1])]
    for kind in ("arguments", "captured", "nested"):
        for own, expected in zip(results[kind], results["kept"], strict=True):
            np.testing.assert_allclose(own, expected, rtol=1e-12, atol=1e-15)
        assert peaks[kind] < 0.7 * peaks["kept"], peaks


def test_structures_random_numbers_and_second_derivatives() -> None:
    def function(x: Any, scale: Any) -> Any:
        kept = xa.random.bernoulli(0.5, x.shape).astype(x.dtype)
        y = xa.sin(x * scale["by"]) * kept
        return {"one": y * y, "number": 3, "places": xa.argmax(y)}

    x = xa.asarray(np.linspace(0.1, 2.0, 12))
    results = []
    for wrapped in (function, xa.checkpoint(function)):
        xa.random.seed(5)

        def total(x: Any, f: Any = wrapped) -> Any:
            return f(x, {"by": 1.5})["one"].sum()

        second = xa.grad(lambda x, f=total: xa.grad(f)(x).sum())
        results.append((xa.grad(total)(x).numpy(), second(x).numpy()))
    for own, expected in zip(*results, strict=True):
        np.testing.assert_allclose(own, expected, rtol=1e-12)
    found = xa.checkpoint(function)(x, {"by": 1.5})
    assert found["number"] == 3
    assert found["one"].shape == (12,)


def test_values_may_be_read_within() -> None:
    def function(x: Any) -> Any:
        y = xa.exp(x)
        return y * float(xa.max(y))  # a number here, of which there is no gradient

    x = xa.asarray([0.5, 1.0], dtype=xa.float64)
    found = xa.grad(lambda x: xa.checkpoint(function)(x).sum())(x)
    np.testing.assert_allclose(found.numpy(), np.exp([0.5, 1.0]) * np.e, rtol=1e-12)
