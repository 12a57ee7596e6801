# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes graphs that look like attention, and are none that the operation can say."""

from __future__ import annotations

import numpy as np
from spellings import (
    HEADS,
    SCALE,
    B,
    D,
    E,
    H,
    S,
    Spelling,
    T,
    kept,
    products,
    scale_after,
    scaled,
    softmax_of,
    values,
)

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import constant


def another_axis(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Softmax along the queries."""
    return values(b, named.softmax(b, scaled(b, products(b, q, k), SCALE), 2), v)


def probabilities_returned(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    p = softmax_of(b, products(b, q, k))
    return [values(b, p, v), p]


def probabilities_used(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    p = softmax_of(b, products(b, q, k))
    return [values(b, p, v), scaled(b, p, 2.0)]


def scores_returned(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    scores = products(b, q, k)
    return [values(b, softmax_of(b, scaled(b, scores, SCALE)), v), scores]


def two_products(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    p = softmax_of(b, products(b, q, k))
    return [values(b, p, v), values(b, p, scaled(b, v, 2.0))]


def scale_of_tensor(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, s: Tensor) -> Tensor:
    """Each head has a temperature of its own."""
    scores = b.map(lambda x, y: x * y, products(b, q, k), s, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def negative_scale_after_mask(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor
) -> Tensor:
    """The mask has the other sign in the end."""
    scores = b.map(lambda x, y: (x + y) * -SCALE, products(b, q, k), m, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def enlarged_after_fill(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    """What masked scores become may be out of range."""
    body = lambda c, x: c.select(x, -3e38) * 2.0  # noqa: E731
    return values(b, softmax_of(b, b.map(body, m, products(b, q, k), dtype=q.dtype)), v)


def selected_from_tensor(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, other: Tensor
) -> Tensor:
    body = lambda c, x, y: c.select(x, y)  # noqa: E731
    scores = b.map(body, m, products(b, q, k), other, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def filled_around_sum(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, a: Tensor
) -> Tensor:
    """Replaced, added to, and replaced again."""
    body = lambda c, x, y: c.select(c.select(x, -1e4) + y, -1e4)  # noqa: E731
    scores = b.map(body, m, products(b, q, k), a, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def three_biases(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, a: Tensor) -> Tensor:
    scores = b.map(lambda x, y, z: x + y + z + z, products(b, q, k), m, a, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def filled_between_sums(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, a: Tensor
) -> Tensor:
    body = lambda c, x, y: c.select(x + y, -1e4) + y  # noqa: E731
    scores = b.map(body, m, products(b, q, k), a, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def along_rows(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Probabilities summed over queries: the second product has the wrong dimension."""
    p = softmax_of(b, products(b, q, k))
    return b.einsum("bhst,bhse->bhte", p, v)


def no_keys(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return scale_after(b, q, k, v)


def constant_values(b: TensorBuilder, q: Tensor, k: Tensor) -> Tensor:
    v = b.constant(np.ones((B, H, T, E), np.float32))
    return values(b, softmax_of(b, products(b, q, k)), v)


def infinite_scale(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return values(b, softmax_of(b, scaled(b, products(b, q, k), float("inf"))), v)


def filled_with_infinity(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    body = lambda c, x: c.select(x, float("inf"))  # noqa: E731
    return values(b, softmax_of(b, b.map(body, m, products(b, q, k), dtype=q.dtype)), v)


def nothing_kept(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return kept(b, q, k, v, b.constant(np.zeros((1, 1, S, T), dtype=bool)))


def dropped_negatives(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    p = b.map(lambda x: x.maximum(0.1), softmax_of(b, products(b, q, k)), dtype=q.dtype)
    return values(b, p, v)


def nan_becomes_one(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    body = lambda x: x.is_nan().select(constant(1.0, x.dtype), x)  # noqa: E731
    return values(b, b.map(body, softmax_of(b, products(b, q, k)), dtype=q.dtype), v)


def in_f64(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The operation's constants are f32, which an f64 factor need not be."""
    return scale_after(b, q, k, v)


NEAR_MISSES: dict[Spelling, tuple[tuple[int, ...], ...]] = {
    **dict.fromkeys(
        (
            another_axis, probabilities_returned, probabilities_used, scores_returned, two_products,
            dropped_negatives, nan_becomes_one, in_f64,
        ),
        HEADS,
    ),
    **dict.fromkeys((infinite_scale, nothing_kept), HEADS),
    no_keys: ((B, H, S, D), (B, H, 0, D), (B, H, 0, E)),
    constant_values: HEADS[:2],
    filled_with_infinity: (*HEADS, (S, T)),
    scale_of_tensor: (*HEADS, (H, 1, 1)),
    **dict.fromkeys((negative_scale_after_mask, enlarged_after_fill), (*HEADS, (S, T))),
    selected_from_tensor: (*HEADS, (S, T), (B, H, S, T)),
    filled_around_sum: (*HEADS, (S, T), (B, H, S, T)),
    three_biases: (*HEADS, (S, T), (B, H, S, T)),
    filled_between_sums: (*HEADS, (S, T), (B, H, S, T)),
    along_rows: ((B, H, S, D), (B, H, T, D), (B, H, S, E)),
}  # fmt: skip
"""Spellings that have to stay as they are."""
