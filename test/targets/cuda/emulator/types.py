# SPDX-License-Identifier: MIT OR Apache-2.0
"""PTX's types as numpy's."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np

__all__ = ["NUMPY", "Array", "halves", "joined", "unsigned"]

Array = np.ndarray[Any, Any]

NUMPY: dict[str, np.dtype[Any]] = {
    name: np.dtype(kind)
    for name, kind in {
        "pred": np.bool_,
        "b8": np.uint8, "u8": np.uint8, "s8": np.int8,
        "b16": np.uint16, "u16": np.uint16, "s16": np.int16, "f16": np.float16,
        "bf16": ml_dtypes.bfloat16,
        "b32": np.uint32, "u32": np.uint32, "s32": np.int32, "f32": np.float32,
        "tf32": np.float32, "e4m3": ml_dtypes.float8_e4m3fn, "e5m2": ml_dtypes.float8_e5m2,
        "b64": np.uint64, "u64": np.uint64, "s64": np.int64, "f64": np.float64,
    }.items()
}  # fmt: skip


def unsigned(nbytes: int) -> np.dtype[Any]:
    """The type of bits that numbers of `nbytes` are stored as."""
    return np.dtype(f"u{nbytes}")


def halves(words: Array, kind: str) -> Array:
    """Words as pairs of numbers of half as many bits, along a new last dimension."""
    flat = np.ascontiguousarray(words)
    return flat.reshape(*flat.shape, 1).view(NUMPY[kind])


def joined(pairs: Array) -> Array:
    """The words of such pairs."""
    words = unsigned(2 * pairs.dtype.itemsize)
    found: Array = np.ascontiguousarray(pairs).view(words)[..., 0]
    return found
