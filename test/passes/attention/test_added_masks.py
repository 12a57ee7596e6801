# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks that are added to scores, and that constants or indices decide, become causal."""

from __future__ import annotations

from collections.abc import Callable

import ml_dtypes
import numpy as np
import pytest
from attention_cases import context, evaluate_module, module_of
from spellings import HEADS, SCALE, S, T, products, scaled, softmax_of, values

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import constant as scalar
from xyntra.passes.manager import run_pipeline

Bias = Callable[[TensorBuilder], Tensor]
LOW = float(np.finfo(np.float32).min)
TRIANGLE = np.tri(S, T, 1, dtype=bool)


def constant(keep: np.ndarray, low: float) -> Bias:
    return lambda b: b.tensor(np.where(keep, np.float32(0), np.float32(low)))


def computed(b: TensorBuilder) -> Tensor:
    """As PyTorch exports `is_causal`: the triangle of ones, compared and selected by."""
    ones = b.tensor(np.ones((S, T), np.bool_))

    def kept(one):  # type: ignore[no-untyped-def]
        row, column = (b.index(d).cast("int64") for d in (0, 1))
        return (column - row <= 1).select(one, 0)

    triangle = b.map(kept, ones, dtype="bool")
    hidden = b.map(lambda v: v.equals(0), triangle, dtype="bool")
    low, zero = (b.tensor(np.array(each, np.float32)) for each in (-np.inf, 0))
    return b.map(lambda v, x, y: v.select(x, y), hidden, low, zero, dtype="float32")


def narrow(dtype: str) -> Bias:
    """As PyTorch exports it for 16 bits: numbers without infinity, of the type of the scores."""
    kind = np.dtype(getattr(ml_dtypes, dtype, dtype))
    lowest = float(ml_dtypes.finfo(kind).min)

    def made(b: TensorBuilder) -> Tensor:
        ones = b.tensor(np.ones((S, T), np.float32))

        def weight(_):  # type: ignore[no-untyped-def]
            row, column = (b.index(d).cast("int64") for d in (0, 1))
            return (column - row > 1).select(scalar(lowest, dtype), 0.0)

        bias = b.map(weight, ones, dtype=dtype)
        return b.map(lambda x: x.cast("float32"), bias, dtype="float32")

    return made


def sliced(b: TensorBuilder) -> Tensor:
    """A part of a larger triangle, as of a buffer that is cut to the length of a sequence."""

    def weight():  # type: ignore[no-untyped-def]
        row, column = (b.index(d).cast("int64") for d in (0, 1))
        return (column - row > 3).select(scalar(LOW, "float32"), 0.0)

    whole = b.map(weight, dtype="float32", shape=(S + 9, T + 7))
    return b.slice(whole, [5, 7], [S, T], [1, 1])


def attention(bias: Bias) -> Callable[[TensorBuilder, Tensor, Tensor, Tensor], Tensor]:
    def spelled(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        scores = scaled(b, products(b, q, k), SCALE)
        masked = b.map(lambda x, y: x + y, scores, bias(b), dtype="float32")
        return values(b, softmax_of(b, masked), v)

    return spelled


def recognized(bias: Bias) -> str:
    """Check the numbers, and return the module in which attention was recognised."""
    rng = np.random.default_rng(3)
    arrays = [rng.standard_normal(shape).astype(np.float32) for shape in HEADS]
    spelled = attention(bias)
    (expected,) = evaluate_module(module_of(spelled, *arrays), *arrays)
    module = module_of(spelled, *arrays)
    with context():
        run_pipeline(module, "recognize-attention")
    text = str(module)
    (found,) = evaluate_module(module, *arrays)
    np.testing.assert_allclose(found, expected, rtol=3e-6, atol=3e-6)
    assert text.count('"xyntra.attention"') == 1
    return text


@pytest.mark.parametrize(
    "bias",
    [
        constant(TRIANGLE, float("-inf")),
        constant(TRIANGLE, LOW),
        computed,
        narrow("float16"),
        narrow("bfloat16"),
        sliced,
    ],
)
def test_triangles_that_hide_keys_are_causal(bias: Bias) -> None:
    assert "causal_offset = 1 : i64" in recognized(bias)


def _with_a_hole() -> np.ndarray:
    keep = TRIANGLE.copy()
    keep[3, 1] = False
    return keep


@pytest.mark.parametrize(
    "bias",
    [
        constant(TRIANGLE, -100.0),  # leaves a little weight
        constant(_with_a_hole(), float("-inf")),
        constant(np.tri(S, T, -1, dtype=bool), LOW),  # hides all keys of the first query
    ],
)
def test_other_biases_are_added(bias: Bias) -> None:
    assert "causal_offset" not in recognized(bias)


LONG = ((1, 1, 30000, 8), (1, 1, 40000, 8), (1, 1, 40000, 8))
"""Queries, keys and values whose mask has more elements than are computed one by one."""


def distant(past: int, *, turned: bool) -> Bias:
    """Hide keys 8 and more behind a query, and those that lie more than `past` before it."""

    def made(b: TensorBuilder) -> Tensor:
        def weight():  # type: ignore[no-untyped-def]
            first, second = (b.index(d).cast("int64") for d in (0, 1))
            apart = first - second if turned else second - first
            return ((apart > 7) | (apart < -past)).select(scalar(LOW, "float32"), 0.0)

        shape = (LONG[0][2], LONG[1][2])
        bias = b.map(weight, dtype="float32", shape=shape[::-1] if turned else shape)
        return b.transpose(bias, [1, 0]) if turned else bias

    return made


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("past", [50000, 100])
def test_masks_of_any_size_are_known_by_their_diagonals(past: int, turned: bool) -> None:
    arrays = [np.broadcast_to(np.float32(0), shape) for shape in LONG]
    module = module_of(attention(distant(past, turned=turned)), *arrays)
    with context():
        run_pipeline(module, "recognize-attention")
    text = str(module)
    assert text.count('"xyntra.attention"') == 1
    assert ("causal_offset = 7 : i64" in text) == (past > LONG[0][2])
    assert ("causal_offset" in text) == (past > LONG[0][2])
