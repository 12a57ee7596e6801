# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays by name, of any dtype, as numpy's files hold them."""

from __future__ import annotations

import json

import ml_dtypes
import numpy as np

__all__ = ["pack_arrays", "unpack_arrays"]


def pack_arrays(arrays: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Arrays that numpy's files hold: bf16 goes as its bits, names as a list."""
    names = list(arrays)
    result = {"names": np.array(json.dumps(names))}
    for i, name in enumerate(names):
        array = arrays[name]
        if array.dtype == ml_dtypes.bfloat16:
            result[f"bf16_{i}"] = array.view(np.uint16)
        else:
            result[f"array_{i}"] = array
    return result


def unpack_arrays(data: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What `pack_arrays` was given."""
    result = {}
    for i, name in enumerate(json.loads(str(data["names"]))):
        plain = f"array_{i}" in data
        result[name] = data[f"array_{i}"] if plain else data[f"bf16_{i}"].view(ml_dtypes.bfloat16)
    return result


def tolerance_exponents(tolerance: np.ndarray) -> np.ndarray:
    """Tolerances as powers of two, rounded up; the largest number stands for anything goes."""
    with np.errstate(all="ignore"):
        exponent = np.ceil(np.log2(tolerance))
    exponent = np.where(tolerance == 0, -32768, np.clip(exponent, -1100, 1100))
    return np.where(np.isinf(tolerance), 32767, exponent).astype(np.int16)


def tolerances(exponents: np.ndarray) -> np.ndarray:
    """Tolerances that `exponents` made smaller."""
    result = np.exp2(exponents.astype(np.float64))
    return np.where(exponents == -32768, 0, np.where(exponents == 32767, np.inf, result))
