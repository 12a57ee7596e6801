# SPDX-License-Identifier: MIT OR Apache-2.0
"""Programs of whole algorithms: clustering, filters, games, linear systems, loops."""

from __future__ import annotations

from typing import Any

import numpy as np

import xyntra.array as xa
from verify.arrays.programs.cases import normal, program


@program(np.array([0, 2, 1, 2]), normal(3, 4))
def take_rows(n: Any, i: Any, x: Any) -> Any:
    return x[i], n.take(x, i, axis=0), x[i, i], x[:, i], x[[2, 0]], x[i[:, None], n.asarray([0, 3])]


@program(np.array([0, 2, 1, 2]), normal(3, 4))
def assign_rows(n: Any, i: Any, x: Any) -> Any:
    y = n.asarray(x, copy=True)
    y[i[:3]] = 0
    y[[0, 1], [1, 2]] = 5
    y[1, n.asarray([0, 1])] += 3
    return y


@program(np.sort(normal(9)), normal(20))
def binning(n: Any, e: Any, x: Any) -> Any:
    i = n.searchsorted(e, x)
    return (
        i,
        n.searchsorted(e, x, side="right"),
        n.sum(n.astype(i[:, None] == n.arange(10), n.int32), axis=0),
    )


@program(normal(6, 3), normal(6))
def lstsq_normal(n: Any, A: Any, b: Any) -> Any:
    return (
        n.linalg.solve(A.T @ A, A.T @ b),
        n.linalg.inv(A.T @ A + n.eye(3, dtype=n.float32)),
        n.linalg.matrix_norm(A),
        n.linalg.vector_norm(b),
    )


@program(normal(8, 8))
def game_of_life(n: Any, x: Any) -> Any:
    g = n.astype(x > 0, n.int32)
    s = n.zeros_like(g)
    for i in (-1, 0, 1):
        for j in (-1, 0, 1):
            if i or j:
                s = s + n.roll(n.roll(g, i, axis=0), j, axis=1)
    return n.astype((s == 3) | ((g == 1) & (s == 2)), n.int32)


@program(normal(33))
def softplus_stable(n: Any, x: Any) -> Any:
    return n.maximum(x, 0) + n.log1p(n.exp(-n.abs(x)))


@program(
    np.array([1, 2, 3], np.int8),
    np.array([200, 100, 5], np.uint8),
    np.array([1.5, 2.5, 3.5], np.float32),
    np.array([True, False, True]),
)
def mixed(n: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
    return (
        a + b,
        a * n.astype(c, n.float32),
        c + d,
        a + d,
        n.where(d, c, n.astype(a, n.float32)),
        n.astype(d, n.int32) * 5,
        c > 2,
    )


@program(normal(4, 5))
def iteration(n: Any, x: Any) -> Any:
    t = n.zeros(5, dtype=n.float32)
    for row in x:
        t = t * 0.5 + row
    return t, sum(float(v) for v in x[0]), [float(v) for v in x[1]][2], len(x)


@program(normal(20))
def newton_loop(n: Any, x: Any) -> Any:
    y = n.abs(x) + 1
    g = y / 2
    while float(n.max(n.abs(g * g - y))) > 1e-4:
        g = (g + y / g) / 2
    return g


@program(normal(12))
def polynomial(n: Any, x: Any) -> Any:
    return (
        3 * x**3 - 2 * x**2 + x - 1,
        n.sqrt(n.abs(x)),
        2**x,
        n.abs(x) ** 0.3,
        (-1.0) ** n.astype(n.arange(4), n.float32),
    )


@program(normal(3, 4))
def structure(n: Any, x: Any) -> Any:
    return (
        n.stack([x, x], axis=1),
        n.expand_dims(x, axis=(0, 2)),
        n.squeeze(x[None], axis=0),
        n.flip(x),
        n.moveaxis(x[None], 0, -1),
        n.tile(x, (2, 1)),
        n.repeat(x, 3, axis=1),
        n.repeat(x, n.asarray([1, 0, 2]), axis=0),
        n.unstack(x)[1] if n is xa else x[1],
        n.permute_dims(x, (1, 0)),
        n.broadcast_to(x[0], (2, 4)),
        n.roll(x, -1),
    )


@program(normal(6, 6))
def negative_steps(n: Any, x: Any) -> Any:
    return x[::-1], x[::-2, 1:-1:2], x[-1], x[..., ::-3], x[5:0:-1, None, 2]


@program(normal(40))
def welford(n: Any, x: Any) -> Any:
    m = n.mean(x)
    v = n.var(x, correction=1)
    return (x - m) / n.sqrt(v), n.std(x), v


@program(normal(4, 9))
def running(n: Any, x: Any) -> Any:
    return (
        n.cumulative_sum(x, axis=1),
        n.cumulative_prod(x, axis=0),
        n.diff(x, axis=1),
        n.diff(x, n=2),
        n.cumulative_sum(x, axis=0, include_initial=True),
    )


@program(normal(5, 4), normal(4, 4))
def linear_algebra(n: Any, A: Any, B: Any) -> Any:
    S = B @ B.T + 4 * n.eye(4, dtype=n.float32)
    L = n.linalg.cholesky(S)
    w = n.linalg.eigvalsh(S)
    return (
        L,
        w,
        n.linalg.det(S),
        n.linalg.slogdet(S)[1],
        n.linalg.svdvals(A),
        n.linalg.pinv(A),
        n.linalg.matrix_rank(A),
        n.linalg.matrix_power(B, 3),
        n.linalg.cross(A[:, :3], A[:, 1:]),
    )
