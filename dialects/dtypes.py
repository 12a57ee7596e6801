# SPDX-License-Identifier: MIT OR Apache-2.0
"""Element types: the names users know (numpy and ml_dtypes) and their MLIR types.

MLIR integers carry no sign, so the IR alone cannot say whether an `i8` is `int8` or `uint8`. The
dtype name travels beside each value while IR is built, and on the model's interface afterwards.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from torch_mlir import ir

ELEMENT_TYPES: dict[str, str] = {
    "float64": "f64",
    "float32": "f32",
    "float16": "f16",
    "bfloat16": "bf16",
    "int64": "i64",
    "int32": "i32",
    "int16": "i16",
    "int8": "i8",
    "uint64": "i64",
    "uint32": "i32",
    "uint16": "i16",
    "uint8": "i8",
    "bool": "i1",
    "index": "index",
    "int4": "i8",
    "uint4": "i8",
    "int2": "i8",
    "uint2": "i8",
    "float8_e4m3fn": "i8",
    "float8_e4m3fnuz": "i8",
    "float8_e5m2": "i8",
    "float8_e5m2fnuz": "i8",
    "float8_e8m0fnu": "i8",
    "float4_e2m1fn": "i8",
}
"""MLIR element type of every supported dtype."""

NARROW_TYPES: dict[str, int] = {
    "int4": 4, "uint4": 4, "int2": 2, "uint2": 2, "float8_e4m3fn": 8, "float8_e4m3fnuz": 8,
    "float8_e5m2": 8, "float8_e5m2fnuz": 8, "float8_e8m0fnu": 8, "float4_e2m1fn": 4,
}  # fmt: skip
"""Dtypes that are stored and converted, but not computed in, with the bits of an element.

Each element lies in a byte of its own, as in arrays of ml_dtypes."""

_DEFAULT_DTYPES = {mlir: name for name, mlir in reversed(ELEMENT_TYPES.items()) if name[0] != "u"}

ITEM_BYTES: dict[str, int] = {
    "f64": 8, "f32": 4, "f16": 2, "bf16": 2, "i64": 8, "i32": 4, "i16": 2, "i8": 1, "i1": 1,
}  # fmt: skip
"""Bytes that one element of an MLIR type takes in a buffer (booleans take one byte)."""


def mlir_type(dtype: str, context: ir.Context) -> ir.Type:
    """The MLIR element type of `dtype`; KeyError when the dtype is not supported."""
    from torch_mlir import ir

    return ir.Type.parse(ELEMENT_TYPES[dtype], context)


def default_dtype(element_type: object) -> str:
    """The dtype name of an MLIR element type, taking integers as signed."""
    return _DEFAULT_DTYPES[str(element_type)]


def is_float(dtype: str) -> bool:
    """Tell whether `dtype` is a floating-point type that is computed in."""
    return "float" in dtype and dtype not in NARROW_TYPES


def is_unsigned(dtype: str) -> bool:
    """Tell whether `dtype` is an unsigned integer (booleans count: true is 1)."""
    return dtype.startswith("uint") or dtype == "bool"


def bit_width(dtype: str) -> int:
    """Number of bits in the IR: 1 for booleans, 64 for `index`."""
    return 64 if dtype == "index" else int(ELEMENT_TYPES[dtype].lstrip("bfi"))


def item_bytes(dtype: str) -> int:
    """Bytes of one element in a buffer."""
    return ITEM_BYTES[ELEMENT_TYPES[dtype]]
