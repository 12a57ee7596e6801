# SPDX-License-Identifier: MIT OR Apache-2.0
"""The element types of weights, by numpy's or ml_dtypes' names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    import numpy as np

DTYPE_BITS = {
    "float32": 32, "uint8": 8, "int8": 8, "uint16": 16, "int16": 16, "int32": 32, "int64": 64,
    "bool": 8, "float16": 16, "float64": 64, "uint32": 32, "uint64": 64, "complex64": 64,
    "complex128": 128, "bfloat16": 16, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8, "float8_e5m2": 8,
    "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8, "uint4": 4, "int4": 4, "float4_e2m1fn": 4,
    "uint2": 2, "int2": 2,
}  # fmt: skip
"""Bits an element takes in a file, by numpy or ml_dtypes name."""


class StoredWeight(Protocol):
    """The storage of a weight, as far as decoding needs it."""

    @property
    def name(self) -> str:
        """For errors."""

    @property
    def file(self) -> str | None:
        """For errors; None where it was given as bytes."""

    @property
    def dtype(self) -> str:
        """The dtype of the array, a key of `DTYPE_BITS`."""

    @property
    def count(self) -> int:
        """Elements of the array."""

    @property
    def encoding(self) -> str:
        """Return how they are stored."""


def dtype_of(name: str) -> np.dtype[Any]:
    """The numpy dtype called `name` in numpy or in ml_dtypes."""
    import numpy as np

    if hasattr(np, name):
        return np.dtype(name)
    import ml_dtypes

    found: np.dtype[Any] = np.dtype(getattr(ml_dtypes, name))
    return found


def stored_bytes(dtype: str, count: int) -> int:
    """Bytes that `count` elements of `dtype` take in raw form."""
    return (count * DTYPE_BITS[dtype] + 7) // 8
