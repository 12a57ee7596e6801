# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws input data: ordinary numbers, and the ones at the edges of each type."""

from __future__ import annotations

import numpy as np
from onnx import TensorProto

from verify.random_graphs.dtypes import (
    DTYPES,
    is_float,
    largest,
    smallest_normal,
    smallest_subnormal,
)

__all__ = ["draw"]


def draw(
    rng: np.random.Generator, shape: tuple[int, ...], elem: int, kind: str = "", *, special: bool
) -> np.ndarray:
    """A wide array of a shape; what it holds is representable after rounding to its type.

    Args:
        kind: "normal", "positive", "small" (whole numbers near 0), "unit" (from -1 to 1), or
            nothing for any of them.
        special: whether to add NaN, infinities, signed zeros, subnormals and extremes.
    """
    if elem == TensorProto.BOOL:
        return rng.random(shape) < rng.choice([0.1, 0.5, 0.9])
    if not is_float(elem):
        return _integers(rng, shape, elem, kind, special)
    kind = kind or str(rng.choice(["normal", "normal", "normal", "small", "positive", "unit"]))
    if kind == "small":
        result = rng.integers(-3, 4, shape).astype(np.float64)
    elif kind == "positive":
        result = rng.uniform(0.05, 3, shape)
    elif kind == "unit":
        result = rng.uniform(-1, 1, shape)
    else:
        result = rng.normal(0, 1, shape)
    result = np.asarray(result)
    if special and result.size:
        sizes = (largest(elem), smallest_normal(elem), smallest_subnormal(elem))
        edges = np.array(
            [np.nan, np.inf, -np.inf, -0.0, 0.0, 1.0, -1.0, 0.5, 2.5, 1e4]
            + [sign * size for size in sizes for sign in (1, -1)]
        )
        if rng.random() < 0.5:
            edges = edges[3:]
        chosen = rng.random(shape) < rng.choice([0.02, 0.1, 0.3])
        result = np.where(chosen, rng.choice(edges, shape), result)
    return result


def _integers(
    rng: np.random.Generator, shape: tuple[int, ...], elem: int, kind: str, special: bool
) -> np.ndarray:
    limits = np.iinfo(DTYPES[elem])
    low = 0 if limits.min == 0 or kind == "positive" else -9
    result = rng.integers(low + (kind == "positive"), 10, shape)
    if kind == "":
        if rng.random() < 0.3 and limits.max < 70000:
            result = rng.integers(limits.min, limits.max + 1, shape)
        elif special:
            edges = [limits.min, limits.max, limits.min + 1, limits.max - 1, 0, 1]
            chosen = rng.random(shape) < 0.2
            dtype = DTYPES[elem]
            picked = np.array(edges, dtype)[rng.integers(0, len(edges), shape)]
            return np.where(chosen, picked, result.astype(dtype))
    return np.asarray(result).astype(DTYPES[elem])
