# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares expressions with numpy in float64, many by one executable."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

import xyntra.array as xa
from verify.arrays.expressions import Expression

__all__ = ["check_gradients", "check_values", "error_of"]

TOLERANCE = 2e-4
STEP = 1e-5


def error_of(found: Any, expected: Any) -> float:
    """Return the largest distance of two arrays, over the largest element or 1."""
    one, two = np.asarray(found, np.float64), np.asarray(expected, np.float64)
    if one.shape != two.shape:
        return float("inf")
    if not one.size:
        return 0.0
    if not np.array_equal(np.isfinite(one), np.isfinite(two)):
        return float("inf")
    kept = np.isfinite(two)
    scale = max(1.0, float(np.abs(two[kept]).max(initial=0)))
    return float(np.abs(one[kept] - two[kept]).max(initial=0)) / scale


def check_values(expressions: Sequence[Expression]) -> list[tuple[int, float]]:
    """Return the expressions that differ from numpy's by more than rounding, and by how much.

    Steps, such as floors, of values that rounding moves over an edge are looked at twice: an
    expression that is no further from numpy in float32 than that is from float64 counts as right.
    """
    results = []
    for each in expressions:
        given = [xa.asarray(x, dtype=xa.float32) for x in each.inputs]
        results.append(each.build(xa, given))
    xa.compute(*results)
    wrong = []
    for place, (each, result) in enumerate(zip(expressions, results, strict=True)):
        with np.errstate(all="ignore"):
            expected = each.build(np, list(each.inputs))
            error = error_of(result, expected)
            if error > TOLERANCE and not each.smooth:
                narrow = each.build(np, [x.astype(np.float32) for x in each.inputs])
                error = min(error, error_of(result, narrow))
                error = 0.0 if error_of(narrow, expected) > TOLERANCE else error
        if error > TOLERANCE:
            wrong.append((place, error))
    return wrong


def check_gradients(expressions: Sequence[Expression]) -> list[tuple[int, float]]:
    """Return the smooth expressions whose gradient is not that of numpy's values in float64.

    The gradient of a weighted sum of the result is compared along one direction with the difference
    of two values beside the inputs. Gradients are computed in float64.
    """
    results, directions = [], []
    for number, each in enumerate(expressions):
        random = np.random.default_rng(number)
        directions.append([random.uniform(-1, 1, x.shape) for x in each.inputs])

        def loss(given: list[Any], build: Any = each.build) -> Any:
            found = build(xa, given)
            return xa.sum(found * xa.asarray(_weights(found.shape)))

        slopes = xa.grad(loss)([xa.asarray(x, dtype=xa.float64) for x in each.inputs])
        parts = [
            xa.sum(slope * xa.asarray(direction))
            for slope, direction in zip(slopes, directions[-1], strict=True)
        ]
        results.append(sum(parts[1:], parts[0]))
    xa.compute(*results)
    wrong = []
    for place, (each, direction, result) in enumerate(
        zip(expressions, directions, results, strict=True)
    ):
        high, low = (
            _loss(each, [x + sign * STEP * d for x, d in zip(each.inputs, direction, strict=True)])
            for sign in (1, -1)
        )
        expected, found = (high - low) / (2 * STEP), float(result)
        error = abs(found - expected) / max(1.0, abs(expected), 1e-3 * abs(high))
        if not error < TOLERANCE:
            wrong.append((place, error))
    return wrong


def _weights(shape: tuple[int, ...]) -> Any:
    return np.cos(np.arange(int(np.prod(shape, dtype=int)), dtype=np.float64)).reshape(shape)


def _loss(expression: Expression, inputs: list[Any]) -> float:
    found = np.asarray(expression.build(np, inputs))
    return float((found * _weights(found.shape)).sum())
