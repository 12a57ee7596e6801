# SPDX-License-Identifier: MIT OR Apache-2.0
"""Attention as models spell it."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt

import numpy as np

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant

Array = np.ndarray
Spelling = Callable[..., "Tensor | list[Tensor]"]

B, H, S, T, D, E = 2, 4, 5, 6, 3, 7
SCALE = 1 / sqrt(D)
HEADS = ((B, H, S, D), (B, H, T, D), (B, H, T, E))


def softmax_of(b: TensorBuilder, scores: Tensor) -> Tensor:
    """Probabilities along the last dimension."""
    return named.softmax(b, scores, scores.rank - 1)


def scaled(b: TensorBuilder, x: Tensor, factor: float) -> Tensor:
    """`x` times a constant."""
    return b.map(lambda v: v * factor, x, dtype=x.dtype)


def products(b: TensorBuilder, q: Tensor, k: Tensor) -> Tensor:
    """Scores, without a scale."""
    return b.einsum("bhsd,bhtd->bhst", q, k)


def values(b: TensorBuilder, p: Tensor, v: Tensor) -> Tensor:
    """Sums of values."""
    return b.einsum("bhst,bhte->bhse", p, v)


def scale_after(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return values(b, softmax_of(b, scaled(b, products(b, q, k), SCALE)), v)


def divided_after(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = b.map(lambda x: x / sqrt(D), products(b, q, k), dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def scale_on_query(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return values(b, softmax_of(b, products(b, scaled(b, q, SCALE), k)), v)


def scale_on_key(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    return values(b, softmax_of(b, products(b, q, scaled(b, k, SCALE))), v)


def scale_on_both(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As torch exports scaled_dot_product_attention: key transposed, NaN replaced by 0."""
    turned = b.transpose(b.reshape(k, [B * H, T, D]), [0, 2, 1])
    turned = scaled(b, b.reshape(turned, [B, H, D, T]), sqrt(SCALE))
    scores = b.einsum("bhsd,bhdt->bhst", scaled(b, q, sqrt(SCALE)), turned)
    p = softmax_of(b, scores)
    nan = b.map(lambda x: x.is_nan(), p, dtype="bool")
    p = b.map(lambda n, x: n.select(constant(0.0, p.dtype), x), nan, p, dtype=p.dtype)
    return values(b, p, v)


def added_mask(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    scores = scaled(b, products(b, q, k), SCALE)
    return values(b, softmax_of(b, b.map(lambda x, y: x + y, scores, m, dtype=q.dtype)), v)


def mask_plus_scores(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    scores = products(b, q, k)
    return values(b, softmax_of(b, b.map(lambda y, x: y + x, m, scores, dtype=q.dtype)), v)


def kept(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    scores = scaled(b, products(b, q, k), SCALE)
    body = lambda c, x: c.select(x, float("-inf"))  # noqa: E731
    return values(b, softmax_of(b, b.map(body, m, scores, dtype=q.dtype)), v)


def filled(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    """`masked_fill` with a large negative number, which stays that number."""
    scores = scaled(b, products(b, q, k), SCALE)
    body = lambda c, x: c.select(constant(-1e9, x.dtype), x)  # noqa: E731
    return values(b, softmax_of(b, b.map(body, m, scores, dtype=q.dtype)), v)


def kept_and_added(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, a: Tensor
) -> Tensor:
    body = lambda c, x: c.select(x, -1e4)  # noqa: E731
    scores = b.map(body, m, products(b, q, k), dtype=q.dtype)
    return values(b, softmax_of(b, b.map(lambda x, y: x + y, scores, a, dtype=q.dtype)), v)


def added_and_filled(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor, a: Tensor
) -> Tensor:
    """As `kept_and_added`, the other way round."""
    body = lambda c, x, y: c.select(x + y, -1e4)  # noqa: E731
    scores = b.map(body, m, products(b, q, k), a, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def windows(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, r: Tensor, m: Tensor) -> Tensor:
    """A bias for each head and a mask for each of two windows, which are part of the batch."""
    scores = b.map(lambda x, y: x + y, scaled(b, products(b, q, k), SCALE), r, dtype=q.dtype)
    split = b.reshape(scores, [B // 2, 2, H, S, T])
    masked = b.map(lambda x, y: x + y, split, m, dtype=q.dtype)
    return values(b, softmax_of(b, b.reshape(masked, [B, H, S, T])), v)


def key_returned(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> list[Tensor]:
    """The turned and scaled key is a result of its own, as in a model with a cache."""
    turned = scaled(b, b.transpose(k, [0, 1, 3, 2]), SCALE)
    scores = b.einsum("bhsd,bhdt->bhst", q, turned)
    return [values(b, softmax_of(b, scores), v), turned]


def kept_all(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """A mask that keeps everything."""
    return kept(b, q, k, v, b.constant(np.ones((1, 1, S, T), dtype=bool)))


def causal_by_index(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    def body(x: Scalar) -> Scalar:
        return (b.index(3).cast("int64") <= b.index(2).cast("int64") + 1).select(x, float("-inf"))

    scores = b.map(body, scaled(b, products(b, q, k), SCALE), dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def causal_by_constant(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    m = b.constant(np.tri(S, T, dtype=bool).reshape(1, 1, S, T))
    return kept(b, q, k, v, m)


def causal_by_opposite(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    m = b.constant(~np.tri(S, T, dtype=bool))
    return filled(b, q, k, v, m)


def causal_of_last(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The only query stands behind all keys: its place is a number, and nothing is hidden."""

    def body(x: Scalar) -> Scalar:
        key = b.index(3).cast("int64")
        seen = (key <= T - 1) & (key > -1)
        return seen.select(x, float("-inf"))

    scores = b.map(body, scaled(b, products(b, q, k), SCALE), dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def causal_of_one(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """The only query stands among the keys of a cache of a fixed length."""

    def body(x: Scalar) -> Scalar:
        return (b.index(3).cast("int64") <= 3).select(x, float("-inf"))

    scores = b.map(body, scaled(b, products(b, q, k), SCALE), dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def merged_heads(b: TensorBuilder, x: Tensor) -> Tensor:
    """One tensor [B, S, 3 * H * D], split, and the result as [B, S, H * D]."""
    parts = [b.slice(x, [0, 0, i * H * D], [B, S, H * D], [1, 1, 1]) for i in range(3)]
    heads = [b.transpose(b.reshape(p, [B, S, H, D]), [0, 2, 1, 3]) for p in parts]
    result = scale_after(b, *heads)
    return b.reshape(b.transpose(result, [0, 2, 1, 3]), [B, S, H * D])


def batches_of_heads(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Batch and heads in one dimension, as torch.bmm wants it, the key transposed."""
    q, k, v = (b.reshape(x, [B * H, *x.shape[2:]]) for x in (q, k, v))
    scores = b.einsum("nsd,ndt->nst", q, b.transpose(k, [0, 2, 1]))
    p = softmax_of(b, scaled(b, scores, SCALE))
    return b.reshape(b.einsum("nst,nte->nse", p, v), [B, H, S, E])


def one_head(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Two dimensions; the key is transposed by the contraction."""
    scores = scaled(b, b.einsum("sd,td->st", q, k), SCALE)
    return b.einsum("st,te->se", softmax_of(b, scores), v)


def repeated_keys(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Two query heads for each key: unsqueeze, expand, reshape."""

    def repeat(x: Tensor) -> Tensor:
        groups, *rest = x.shape[1:]
        wide = b.broadcast_to(b.reshape(x, [B, groups, 1, *rest]), [B, groups, 2, *rest])
        return b.reshape(wide, [B, groups * 2, *rest])

    return scale_after(b, q, repeat(k), repeat(v))


def grouped_queries(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Two query heads for each key, in a dimension of their own."""
    q = b.reshape(q, [B, H // 2, 2, S, D])
    scores = scaled(b, b.einsum("bgrsd,bgtd->bgrst", q, k), SCALE)
    result = b.einsum("bgrst,bgte->bgrse", softmax_of(b, scores), v)
    return b.reshape(result, [B, H, S, E])


def one_key_for_all(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Multi-query attention: keys and values without heads."""
    scores = scaled(b, b.einsum("bhsd,btd->bhst", q, k), SCALE)
    return b.einsum("bhst,bte->bhse", softmax_of(b, scores), v)


def rotated(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Rotary embedding of queries in front, which stays there."""
    half = [B, H, S, D // 2]
    low = b.slice(q, [0] * 4, half, [1] * 4)
    high = b.slice(q, [0, 0, 0, D // 2], [B, H, S, D - D // 2], [1] * 4)
    turned = b.pad(low, [0, 0, 0, D - D // 2], [0] * 4, 0.0)
    back = b.pad(high, [0] * 4, [0, 0, 0, D // 2], 0.0)
    moved = b.map(lambda x, y: x - y, turned, back, dtype=q.dtype)
    q = b.map(lambda x, y, c, s: x * c + y * s, q, moved, cos, sin, dtype=q.dtype)
    return scale_after(b, q, k, v)


def half_precision(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """f16 operands, products and softmax in f32."""
    scores = scaled(b, b.einsum("bhsd,bhtd->bhst", q, k, "float32"), SCALE)
    p = b.map(lambda x: x.cast("float16"), softmax_of(b, scores), dtype="float16")
    result = b.einsum("bhst,bhte->bhse", p, v, "float32")
    return b.map(lambda x: x.cast("float16"), result, dtype="float16")


def keys_of_each_query(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Every query has keys of its own: as many heads of one query each."""
    scores = b.einsum("bhsd,bstd->bhst", q, k)
    return values(b, softmax_of(b, scores), v)


def scale_after_mask(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    scores = b.map(lambda x, y: (x + y) * SCALE, products(b, q, k), m, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def scale_after_fill(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    body = lambda c, x: c.select(x, -30.0) / sqrt(D)  # noqa: E731
    return values(b, softmax_of(b, b.map(body, m, products(b, q, k), dtype=q.dtype)), v)


def scale_after_biases(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, r: Tensor, m: Tensor
) -> Tensor:
    """Of two biases one is scaled with the scores, the other added afterwards."""
    body = lambda x, y, z: (x + y) * SCALE + z  # noqa: E731
    scores = b.map(body, products(b, q, k), r, m, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def subtracted_biases(
    b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, r: Tensor, m: Tensor
) -> Tensor:
    """Of two biases one is taken from the scores before they are scaled, the other afterwards."""
    body = lambda x, y, z: (x - y) * SCALE - z  # noqa: E731
    scores = b.map(body, products(b, q, k), r, m, dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


def added_zeros(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """As torch.baddbmm with beta=0 is exported."""
    zeros = b.constant(np.zeros((B, H, S, T), np.float32))
    body = lambda y, x: y + x * SCALE  # noqa: E731
    return values(b, softmax_of(b, b.map(body, zeros, products(b, q, k), dtype=q.dtype)), v)


def widened_factors(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor, m: Tensor) -> Tensor:
    """f16 queries and keys are converted to f32, and probabilities back."""
    wide = [b.map(lambda x: x.cast("float32"), each, dtype="float32") for each in (q, k)]
    body = lambda x, y: (x + y.cast("float32")) * SCALE  # noqa: E731
    scores = b.map(body, products(b, *wide), m, dtype="float32")
    p = b.map(lambda x: x.cast("float16"), softmax_of(b, scores), dtype="float16")
    result = b.einsum("bhst,bhte->bhse", p, v, "float32")
    return b.map(lambda x: x.cast("float16"), result, dtype="float16")


def widened_values(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Values of f16 are converted to f32, and the result back, as an f32 mask does in exports."""
    scores = scaled(b, b.einsum("bhsd,bhtd->bhst", q, k, "float32"), SCALE)
    wide = b.map(lambda x: x.cast("float32"), v, dtype="float32")
    result = b.transpose(values(b, softmax_of(b, scores), wide), [0, 2, 1, 3])
    return b.map(lambda x: x.cast("float16"), result, dtype="float16")


def widened_alone(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """All of it in f32, which is what the result stays."""
    return scale_after(
        b, *(b.map(lambda x: x.cast("float32"), t, dtype="float32") for t in (q, k, v))
    )


def capped(b: TensorBuilder, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    scores = b.map(lambda x: x.math("tanh"), products(b, q, k), dtype=q.dtype)
    return values(b, softmax_of(b, scores), v)


# What each spelling takes beside queries, keys and values.
SPELLINGS: dict[Spelling, tuple[tuple[int, ...], ...]] = {
    **dict.fromkeys(
        (scale_after, divided_after, scale_on_query, scale_on_key, scale_on_both, batches_of_heads),
        HEADS,
    ),
    **dict.fromkeys(
        (causal_by_index, causal_by_constant, causal_by_opposite, half_precision), HEADS
    ),
    **dict.fromkeys((causal_of_last, causal_of_one), ((B, H, 1, D), *HEADS[1:])),
    added_mask: (*HEADS, (B, 1, 1, T)),
    mask_plus_scores: (*HEADS, (H, S, T)),
    kept: (*HEADS, (1, 1, S, T)),
    filled: (*HEADS, (B, 1, 1, T)),
    kept_and_added: (*HEADS, (S, T), (B, H, S, T)),
    added_and_filled: (*HEADS, (S, T), (B, H, S, T)),
    key_returned: HEADS,
    windows: (*HEADS, (H, S, T), (2, 1, S, T)),
    scale_after_mask: (*HEADS, (S, T)),
    scale_after_fill: (*HEADS, (S, T)),
    scale_after_biases: (*HEADS, (H, S, T), (B, 1, S, T)),
    subtracted_biases: (*HEADS, (H, S, T), (B, 1, S, T)),
    added_zeros: HEADS,
    widened_factors: (*HEADS, (S, T)),
    **dict.fromkeys((widened_values, widened_alone), HEADS),
    kept_all: HEADS,
    capped: HEADS,
    merged_heads: ((B, S, 3 * H * D),),
    one_head: ((S, D), (T, D), (T, E)),
    repeated_keys: ((B, H, S, D), (B, H // 2, T, D), (B, H // 2, T, E)),
    grouped_queries: ((B, H, S, D), (B, H // 2, T, D), (B, H // 2, T, E)),
    one_key_for_all: ((B, H, S, D), (B, T, D), (B, T, E)),
    rotated: (*HEADS, (S, D), (S, D)),
    keys_of_each_query: ((B, H, S, D), (B, S, T, D), (B, H, T, E)),
}
