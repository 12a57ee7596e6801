# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs about shapes, scans, logic, limits of types, and sets."""

from __future__ import annotations

from typing import Any

import numpy as np

from verify.arrays.programs.cases import normal, program


@program(normal(5), normal(5))
def tensor_products(n: Any, a: Any, b: Any) -> Any:
    return n.vecdot(a, b), n.tensordot(a, b, axes=0), n.matmul(a, b), n.linalg.outer(a, b), a @ b


@program(np.array([[0, 1], [1, 0]], bool))
def logic(n: Any, x: Any) -> Any:
    return (
        n.logical_and(x, ~x),
        x | True,
        x & x,
        x ^ x.T,
        n.all(x, axis=0),
        n.any(x),
        n.logical_not(x),
        n.count_nonzero(x),
        x == x.T,
        n.sum(n.astype(x, n.int64)),
    )


@program(np.array([2**31 - 1, -(2**31)], np.int32), np.array([255, 1], np.uint8))
def overflow(n: Any, a: Any, b: Any) -> Any:
    return a + 1, a * 2, b + 1, b * b, -a, n.abs(a)


@program(normal(16))
def fft_naive(n: Any, x: Any) -> Any:
    k = n.astype(n.arange(16), n.float32)
    ang = -2 * n.pi * k[:, None] * k[None, :] / 16
    return n.cos(ang) @ x, n.sin(ang) @ x


@program(normal(9, 9))
def conv_by_slices(n: Any, x: Any) -> Any:
    return sum(x[i : i + 7, j : j + 7] * (i + j) for i in range(3) for j in range(3))


@program(normal(6, 2))
def distance_matrix(n: Any, x: Any) -> Any:
    d = n.sqrt(n.sum((x[:, None] - x[None]) ** 2, axis=-1))
    d = d + n.eye(6, dtype=n.float32) * 1e9
    return n.min(d, axis=1), n.argmin(d, axis=1)


@program(normal(3, 5))
def meshes(n: Any, x: Any) -> Any:
    a, b = n.meshgrid(n.asarray([1.0, 2.0]), n.asarray([3.0, 4.0, 5.0]), indexing="ij")
    return (
        a * b,
        n.linspace(0, 1, 5),
        n.arange(0, 10, 3),
        n.full((2, 2), 7),
        n.eye(2, 3, k=1),
        n.linspace(1, 0, 4, endpoint=False),
    )


@program(normal(10))
def where_scalar(n: Any, x: Any) -> Any:
    return (
        n.where(x > 0, 1.0, -1.0),
        n.where(x > 0, x, 0),
        n.where(True, x, x + 1),
        n.where(x > 0, n.nan, x),
    )


@program(normal(4, 3))
def nested_loops_assign(n: Any, x: Any) -> Any:
    y = n.zeros((4, 3), dtype=n.float32)
    for i in range(4):
        for j in range(3):
            y[i, j] = x[i, j] * i - j
    return y


@program(normal(8))
def prefix_max(n: Any, x: Any) -> Any:
    m = n.asarray(x, copy=True)
    for s in (1, 2, 4):
        m[s:] = n.maximum(m[s:], m[:-s])
    return m


@program(np.array([1e30, 1e30], np.float32))
def overflow_floats(n: Any, x: Any) -> Any:
    return x * x, n.log(n.exp(x)), n.sqrt(-x), x / 0, 0 * x / 0, n.logaddexp(x, x), n.hypot(x, x)


@program(normal(5, 1, 3), normal(4, 1))
def deep_broadcast(n: Any, x: Any, y: Any) -> Any:
    return x + y, n.maximum(x, y), (x > y).astype(n.float32), n.broadcast_arrays(x, y)[1]


@program(np.array([7, 3, 7, 1]))
def uniques(n: Any, x: Any) -> Any:
    if n is np:
        v, i, inv, c = np.unique(x, return_index=True, return_inverse=True, return_counts=True)
        return v, i, inv, c, np.isin(x, [7, 1]), np.nonzero(x > 2)[0]
    u = n.unique_all(x)
    return (
        u.values,
        u.indices,
        u.inverse_indices,
        u.counts,
        n.isin(x, n.asarray([7, 1])),
        n.nonzero(x > 2)[0],
    )


@program(normal(4, 4))
def aug_ops(n: Any, x: Any) -> Any:
    y = n.asarray(x, copy=True)
    y += 1
    y -= x
    y *= 2
    y /= 3
    y **= 2
    z = n.asarray([7, 9])
    z //= 2
    z %= 3
    z <<= 2
    z |= 1
    z &= 5
    z ^= 2
    z >>= 1
    w = n.eye(4, dtype=n.float32)
    w @= x
    return y, z, w
