# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs that select and assign parts of arrays, with masks, views and missing values."""

from __future__ import annotations

from typing import Any

import numpy as np

import xyntra.array as xa
from verify.arrays.programs.cases import normal, program


@program(normal(50, 3))
def kmeans_step(n: Any, x: Any) -> Any:
    c = x[:4]
    d = n.sum((x[:, None, :] - c[None]) ** 2, axis=-1)
    lab = n.argmin(d, axis=1)
    onehot = n.astype(lab[:, None] == n.arange(4)[None, :], n.float32)
    return (onehot.T @ x) / n.sum(onehot, axis=0)[:, None]


@program(normal(6, 7))
def masked_assign(n: Any, x: Any) -> Any:
    y = n.asarray(x, copy=True)
    y[y < 0] = 0
    y[::2, 1] += 10
    y[:, -1] = y[:, 0]
    return y


@program(normal(6, 7))
def boolean_select(n: Any, x: Any) -> Any:
    return x[x > 0.3]


@program(normal(6, 7))
def bool_rows(n: Any, x: Any) -> Any:
    return x[n.any(x > 1, axis=1)], x[:, n.sum(x, axis=0) > 0]


@program(normal(6, 7))
def mask_with_vector(n: Any, x: Any) -> Any:
    y = n.asarray(x, copy=True)
    m = y > 0
    y[m] = y[m] * 2 + 1
    return y


@program(normal(4, 6))
def inplace_views(n: Any, x: Any) -> Any:
    y = n.asarray(x, copy=True)
    a = y[1:3]
    b = a[:, ::2]
    b *= 2
    a[0] -= 1
    y.T[0] = 7
    return y


@program(np.arange(12).reshape(3, 4))
def ints(n: Any, x: Any) -> Any:
    return x // 5, x % 5, -x // 5, (-x) % 5, x**2, x << 1, x >> 1, x & 3, x | 8, x ^ 5, ~x


@program(np.array([5, -7, 0, 9]), np.array([2, 0, 0, -3]))
def int_div_zero(n: Any, x: Any, y: Any) -> Any:
    return n.where(y == 0, 0, x // n.where(y == 0, 1, y))


@program(np.array([1.0, np.nan, 3.0, -np.inf, np.inf], np.float32))
def nan_things(n: Any, x: Any) -> Any:
    return (
        n.isnan(x),
        n.max(x),
        n.argmax(x),
        n.where(n.isfinite(x), x, 0.0).sum(),
        n.sort(x),
        n.argsort(x),
        n.any(n.isnan(x)),
        n.sum(x),
        n.minimum(x, 2.0),
        n.clip(x, -1.0, 1.0),
        n.sign(x),
    )


@program(np.array([3.0, 1.0, 3.0, 1.0, 1.0], np.float32))
def ties(n: Any, x: Any) -> Any:
    return n.argmax(x), n.argmin(x), n.argsort(x), n.unique_values(x) if n is xa else np.unique(x)


@program(normal(3, 4, 5))
def several_axes(n: Any, x: Any) -> Any:
    return (
        n.sum(x, axis=(0, 2)),
        n.max(x, axis=(1, 2), keepdims=True),
        n.mean(x, axis=(-1, -3)),
        n.std(x, axis=(0, 1)),
        n.prod(x, axis=None),
        n.all(x > -9, axis=(0, 1)),
    )


@program(normal(0, 4), normal(3, 0), normal(0, 5))
def zero_sizes(n: Any, a: Any, b: Any, c: Any) -> Any:
    return (
        n.sum(a, axis=0),
        n.sum(a),
        b @ c,
        n.concat([a, n.ones((2, 4), dtype=n.float32)], axis=0),
        n.prod(a, axis=0),
        a.reshape(2, 0, 2),
        n.any(a),
        n.cumulative_sum(n.reshape(a, (-1,))),
        n.sort(a, axis=0),
        n.mean(b, axis=0),
    )


@program(normal(10))
def rolling_mean(n: Any, x: Any) -> Any:
    c = n.cumulative_sum(x)
    w = 3
    z = n.concat([n.zeros(1, dtype=x.dtype), c])
    return (z[w:] - z[:-w]) / w


@program(normal(5, 5))
def triangles(n: Any, x: Any) -> Any:
    return n.tril(x) + n.triu(x, k=1), n.linalg.trace(x), n.linalg.diagonal(x)


@program(normal(7), normal(5))
def outer_broadcast(n: Any, x: Any, y: Any) -> Any:
    return x[:, None] * y, n.hypot(x[:, None], y[None, :]), n.atan2(x[:, None], y)
