# SPDX-License-Identifier: MIT OR Apache-2.0
"""Element types, and the two ways in which arrays are held.

A *native* array has the dtype of the model. A *wide* array holds floats of every width as float64
and everything else natively; the reference computes on wide arrays alone.
"""

from __future__ import annotations

from enum import IntEnum

import ml_dtypes
import numpy as np

__all__ = [
    "ALL",
    "BOOL",
    "DTYPES",
    "FLOATS",
    "INTS",
    "SIGNED",
    "UNSIGNED",
    "Elem",
    "elem_of",
    "from_proto_text",
    "is_float",
    "largest",
    "native",
    "rounded",
    "smallest_normal",
    "smallest_subnormal",
    "unit",
    "wide",
]


class Elem(IntEnum):
    """ONNX's numbers for element types, for where there is no ONNX."""

    FLOAT = 1
    UINT8 = 2
    INT8 = 3
    UINT16 = 4
    INT16 = 5
    INT32 = 6
    INT64 = 7
    BOOL = 9
    FLOAT16 = 10
    DOUBLE = 11
    UINT32 = 12
    UINT64 = 13
    BFLOAT16 = 16


BOOL = int(Elem.BOOL)
DTYPES: dict[int, np.dtype] = {
    int(Elem.FLOAT): np.dtype(np.float32),
    int(Elem.DOUBLE): np.dtype(np.float64),
    int(Elem.FLOAT16): np.dtype(np.float16),
    int(Elem.BFLOAT16): np.dtype(ml_dtypes.bfloat16),
    int(Elem.INT8): np.dtype(np.int8),
    int(Elem.INT16): np.dtype(np.int16),
    int(Elem.INT32): np.dtype(np.int32),
    int(Elem.INT64): np.dtype(np.int64),
    int(Elem.UINT8): np.dtype(np.uint8),
    int(Elem.UINT16): np.dtype(np.uint16),
    int(Elem.UINT32): np.dtype(np.uint32),
    int(Elem.UINT64): np.dtype(np.uint64),
    int(Elem.BOOL): np.dtype(np.bool_),
}
FLOATS = tuple(map(int, (Elem.FLOAT, Elem.DOUBLE, Elem.FLOAT16, Elem.BFLOAT16)))
SIGNED = tuple(map(int, (Elem.INT8, Elem.INT16, Elem.INT32, Elem.INT64)))
UNSIGNED = tuple(map(int, (Elem.UINT8, Elem.UINT16, Elem.UINT32, Elem.UINT64)))
INTS = (*SIGNED, *UNSIGNED)
ALL = (*FLOATS, *INTS, BOOL)
_ELEMS = {dtype: elem for elem, dtype in DTYPES.items()}
_TEXTS = {
    "tensor(float)": Elem.FLOAT,
    "tensor(double)": Elem.DOUBLE,
} | {
    f"tensor({Elem(elem).name.lower()})": elem
    for elem in DTYPES
    if elem not in (Elem.FLOAT, Elem.DOUBLE)
}


def is_float(elem: int) -> bool:
    """Whether an element type is a floating-point one."""
    return elem in FLOATS


def elem_of(dtype: np.dtype) -> int:
    """The ONNX element type of a native dtype.

    Raises:
        KeyError: graphs have no such type.
    """
    return _ELEMS[np.dtype(dtype)]


def from_proto_text(text: str) -> int | None:
    """The element type that a schema calls `tensor(float16)`, say."""
    return _TEXTS.get(text)


def unit(elem: int) -> float:
    """The distance from 1 to the next number."""
    return float(ml_dtypes.finfo(DTYPES[elem]).eps)


def smallest_normal(elem: int) -> float:
    """The smallest positive normal number."""
    return float(ml_dtypes.finfo(DTYPES[elem]).tiny)


def smallest_subnormal(elem: int) -> float:
    """The smallest positive number."""
    return float(ml_dtypes.finfo(DTYPES[elem]).smallest_subnormal)


def largest(elem: int) -> float:
    """The largest finite number."""
    return float(ml_dtypes.finfo(DTYPES[elem]).max)


def wide(array: np.ndarray) -> np.ndarray:
    """A native array as the reference holds it."""
    return array.astype(np.float64) if is_float(elem_of(array.dtype)) else np.asarray(array)


def native(array: np.ndarray, elem: int) -> np.ndarray:
    """A wide array in the dtype of the model, rounded to nearest even."""
    with np.errstate(all="ignore"):
        return np.asarray(array).astype(DTYPES[elem])


def rounded(array: np.ndarray, elem: int) -> np.ndarray:
    """A wide array after it was stored in the dtype of the model."""
    if elem == Elem.DOUBLE or not is_float(elem):
        return np.asarray(array)
    return native(array, elem).astype(np.float64)
