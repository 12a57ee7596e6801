# SPDX-License-Identifier: MIT OR Apache-2.0
"""Random inputs of tests, the same in every run."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

TOLERANCES = {
    "float64": {"rtol": 1e-9, "atol": 1e-9},
    "float32": {"rtol": 1e-4, "atol": 1e-5},
    "float16": {"rtol": 2e-3, "atol": 2e-3},
    "bfloat16": {"rtol": 1.6e-2, "atol": 1.6e-2},
}
"""How far results of each dtype may be apart that sum in another order and round once."""


def tolerance(dtype: str) -> dict[str, Any]:
    """The keyword arguments of a comparison of results of `dtype`."""
    return dict(TOLERANCES[dtype])


def normal(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Normally distributed numbers."""
    kind = ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype
    values = np.random.default_rng([seed, *shape]).standard_normal(shape)
    return np.asarray(values, kind)


def positive(*shape: int, dtype: str = "float32", seed: int = 0) -> np.ndarray:
    """Numbers of at least 0.1."""
    return np.asarray(np.abs(normal(*shape, dtype=dtype, seed=seed)) + np.array(0.1, dtype))


def integers(low: int, high: int, *shape: int, dtype: str = "int64", seed: int = 0) -> np.ndarray:
    """Integers from `low` to below `high`."""
    values = np.random.default_rng([seed, *shape]).integers(low, high, shape)
    return np.asarray(values).astype(dtype)


def bytes_(*shape: int, dtype: str = "uint8", seed: int = 0) -> np.ndarray:
    """Integers over the whole range of an 8-bit dtype."""
    limits = np.iinfo(dtype)
    return integers(int(limits.min), int(limits.max) + 1, *shape, dtype=dtype, seed=seed)


def scalar(value: float, dtype: str = "float32") -> np.ndarray:
    """An array without dimensions."""
    return np.array(value, dtype)
