# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests linear algebra against numpy in float64, and the gradients of factorisations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import xyntra.array as xa
from xyntra.array import linalg
from xyntra.errors import InputError, UnsupportedError

Array = np.ndarray[Any, Any]
RANDOM = np.random.default_rng(5)
SQUARE = RANDOM.normal(size=(2, 5, 5))
SYMMETRIC = SQUARE @ SQUARE.swapaxes(-1, -2) + 4 * np.eye(5)
WIDE = RANDOM.normal(size=(3, 4, 7))


def close(found: Any, expected: Any) -> None:
    own = np.asarray(found)
    assert own.shape == np.shape(expected)
    np.testing.assert_allclose(own, expected, rtol=1e-9, atol=1e-9)


def test_factorisations_follow_numpy() -> None:
    a, s, w = xa.asarray(SQUARE), xa.asarray(SYMMETRIC), xa.asarray(WIDE)
    for name in ("det", "inv", "slogdet"):
        for found, expected in zip(
            np.atleast_1d(getattr(linalg, name)(a)),
            np.atleast_1d(getattr(np.linalg, name)(SQUARE)),
            strict=True,
        ):
            close(found, expected)
    close(linalg.cholesky(s, upper=True).mT, np.linalg.cholesky(SYMMETRIC))
    close(linalg.solve(a, s), np.linalg.solve(SQUARE, SYMMETRIC))
    close(linalg.solve(a, s[0, 0]), np.linalg.solve(SQUARE, SYMMETRIC[0, 0][:, None])[..., 0])
    close(linalg.pinv(w), np.linalg.pinv(WIDE))
    close(linalg.svdvals(w), np.linalg.svd(WIDE, compute_uv=False))
    u, values, vh = linalg.svd(w, full_matrices=False)
    close((u * values[:, None, :]) @ vh, WIDE)
    q, r = linalg.qr(w)
    close(q @ r, WIDE)
    values, vectors = linalg.eigh(s)
    close(vectors * values[:, None, :] @ vectors.mT, SYMMETRIC)
    close(linalg.matrix_rank(xa.concat([w, w], axis=1)), [4, 4, 4])


def test_what_is_recorded_follows_numpy() -> None:
    a, w = xa.asarray(SQUARE), xa.asarray(WIDE)
    pairs = [
        (linalg.trace(a, offset=1), np.trace(SQUARE, 1, 1, 2)),
        (linalg.diagonal(w, offset=-1), np.diagonal(WIDE, -1, 1, 2)),
        (linalg.diagonal(w, offset=9), np.zeros((3, 0))),
        (linalg.matrix_power(a, 5), np.linalg.matrix_power(SQUARE, 5)),
        (linalg.matrix_power(a, -2), np.linalg.matrix_power(SQUARE, -2)),
        (linalg.matrix_power(a, 0), np.linalg.matrix_power(SQUARE, 0)),
        (linalg.cross(w[..., :3], w[0, :, 3:6]), np.cross(WIDE[..., :3], WIDE[0, :, 3:6])),
        (linalg.cross(w[:, :3], w[:, :3] * 2 + 1, axis=-2),
         np.cross(WIDE[:, :3], WIDE[:, :3] * 2 + 1, axis=-2)),
    ]  # fmt: skip
    pairs += [
        (linalg.matrix_norm(w, ord=order), np.linalg.norm(WIDE, order, (1, 2)))
        for order in ("fro", "nuc", 1, -1, 2, -2, np.inf, -np.inf)
    ]
    pairs += [
        (linalg.vector_norm(w, axis=1, ord=order), np.linalg.norm(WIDE, order, 1))
        for order in (0, 1, 2, 3, -1, np.inf, -np.inf)
    ]
    pairs.append((linalg.vector_norm(w, keepdims=True)[0, 0], [np.linalg.norm(WIDE)]))
    xa.compute(*(found for found, _ in pairs))
    for found, expected in pairs:
        close(found, expected)


# By name: the matrices, and what is differentiated of them.
DIFFERENTIATED: dict[str, tuple[Array, Callable[[Any, Any], Any]]] = {
    "inv": (SQUARE, lambda x, w: linalg.inv(x) * w),
    "det": (SQUARE, lambda x, w: linalg.det(x) * w[:, 0, 0]),
    "slogdet": (SQUARE, lambda x, w: linalg.slogdet(x).logabsdet * w[:, 0, 0]),
    "solve": (SQUARE, lambda x, w: linalg.solve(x, w) * x),
    "a vector": (SQUARE, lambda x, w: linalg.solve(x, w[0, 0])),
    "cholesky": (SYMMETRIC, lambda x, w: linalg.cholesky(x) * w),
    "upper": (SYMMETRIC, lambda x, w: linalg.cholesky(x, upper=True) * w),
    "eigvalsh": (SYMMETRIC, lambda x, w: linalg.eigvalsh(x) * w[:, 0]),
    "eigh": (SYMMETRIC, lambda x, w: linalg.eigh(x).eigenvectors ** 2 * w),
    "svdvals": (SQUARE, lambda x, w: linalg.svd(x).S * w[:, 0] + linalg.svdvals(x)),
}


def test_gradients_are_differences_of_values() -> None:
    weights, along = xa.asarray(RANDOM.normal(size=(2, 5, 5))), RANDOM.normal(size=(2, 5, 5))
    along = along + along.swapaxes(-1, -2)  # symmetric matrices stay so
    direction = xa.asarray(along)
    found: dict[str, list[Any]] = {}
    for name, (matrices, function) in DIFFERENTIATED.items():

        def loss(x: Any, function: Any = function) -> Any:
            return function(x, weights).sum()

        x = xa.asarray(matrices)
        ends = [loss(xa.asarray(matrices + step * along)) for step in (1e-6, -1e-6)]
        slope = (xa.grad(loss)(x) * direction).sum()
        forward = xa.jvp(loss, (x,), (direction,))[1]
        found[name] = [slope, forward, (ends[0] - ends[1]) / 2e-6]
    xa.compute(*(each for values in found.values() for each in values))
    for name, values in found.items():
        slope, forward, expected = map(float, values)
        assert slope == pytest.approx(expected, rel=1e-5), name
        assert forward == pytest.approx(slope, rel=1e-9), name


def test_gradients_of_gradients() -> None:
    along = RANDOM.normal(size=(2, 5, 5))

    def slope(x: Any) -> Any:
        return (xa.grad(lambda x: (linalg.solve(x, x.mT)).sum())(x) * xa.asarray(along)).sum()

    ends = [slope(xa.asarray(SQUARE + step * along)) for step in (1e-6, -1e-6)]
    second = (xa.grad(slope)(xa.asarray(SQUARE)) * xa.asarray(along)).sum()
    assert float(second) == pytest.approx(float(ends[0] - ends[1]) / 2e-6, rel=1e-5)


def test_wrong_matrices_and_recorded_functions_are_refused() -> None:
    w = xa.asarray(WIDE)
    for call, message in (
        (lambda: linalg.inv(xa.zeros((3, 3))), "Singular matrix"),
        (lambda: linalg.inv(w), "it takes square matrices"),
        (lambda: linalg.qr(w[0, 0]), "it takes matrices"),
        (lambda: linalg.cross(w, w), "vectors have three elements"),
        (lambda: linalg.matrix_norm(w, ord=7), "names no norm of matrices"),
        (lambda: xa.jit(linalg.inv)(w[:, :, :4]), "computed by LAPACK when it is called"),
    ):
        with pytest.raises(InputError, match=message):
            call()
    for function in (lambda x: linalg.svd(x).U, lambda x: linalg.qr(x).Q):
        with pytest.raises(UnsupportedError, match="gradient"):
            xa.grad(lambda x, f=function: f(x).sum())(w)
