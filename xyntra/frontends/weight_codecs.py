# SPDX-License-Identifier: MIT OR Apache-2.0
"""Decoding of weights not stored as plain little-endian arrays: varints, tags, sub-byte types."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from xyntra.errors import ModelError
from xyntra.frontends.weight_types import DTYPE_BITS, StoredWeight, dtype_of

_BLOCK = 1 << 22
"""Bytes of varints decoded at a time: bounds the temporary arrays."""

_Bytes = NDArray[np.uint8]


def decode(ref: StoredWeight, data: _Bytes) -> _Bytes:
    """The bytes of the array that `data`, stored in `ref.encoding`, stands for.

    Raises:
        ModelError: `tensor-malformed` (the bytes are not what the encoding says) or
            `tensor-value-range` (a stored number does not fit the dtype).
    """
    width = max(DTYPE_BITS[ref.dtype], 8)
    if ref.encoding == "tagged-fixed":
        data = _untag_fixed(ref, data)
    elif ref.encoding == "tagged-varint":
        data = _fit(ref, _varints(ref, _untag_varints(ref, data)), width)
    elif ref.encoding == "varint":
        data = _fit(ref, _varints(ref, data), width)
    if DTYPE_BITS[ref.dtype] < 8:
        return _unpack(data, DTYPE_BITS[ref.dtype], ref.count)
    if ref.dtype == "bool" and data.size and data.max() > 1:
        raise _error(ref, "tensor-value-range", "a bool is stored as neither 0 nor 1")
    return data


def _error(ref: StoredWeight, code: str, cause: str) -> ModelError:
    return ModelError(code, f"weight {ref.name!r} cannot be decoded", place=ref.file, cause=cause)


def _untag_fixed(ref: StoredWeight, data: _Bytes) -> _Bytes:
    size = 8 if ref.dtype in ("float64", "complex128") else 4
    if data.size % (size + 1):
        raise _error(ref, "tensor-malformed", "the elements do not have one size")
    return np.ascontiguousarray(data.reshape(-1, size + 1)[:, 1:]).reshape(-1)


def _untag_varints(ref: StoredWeight, data: _Bytes) -> _Bytes:
    # A one-byte tag ends its own "varint", so tags are every second number, from the first.
    last = np.flatnonzero(data < 0x80)
    if last.size % 2:
        raise _error(ref, "tensor-malformed", "a tag stands without its number")
    tags = last[::2]
    after = np.concatenate(([-1], last[1::2][:-1])) if tags.size else tags
    if not np.array_equal(tags, after + 1):
        raise _error(ref, "tensor-malformed", "a number stands without its tag")
    return np.delete(data, tags)


def _varints(ref: StoredWeight, data: _Bytes) -> NDArray[np.uint64]:
    if data.size and data[-1] >= 0x80:
        raise _error(ref, "tensor-malformed", "the last number has no last byte")
    blocks = []
    at = 0
    while at < data.size:
        end = min(at + _BLOCK, data.size)
        while data[end - 1] >= 0x80:
            end += 1
        blocks.append(_varint_block(ref, data[at:end]))
        at = end
    return np.concatenate(blocks) if blocks else np.empty(0, np.uint64)


def _varint_block(ref: StoredWeight, data: _Bytes) -> NDArray[np.uint64]:
    """Varints of whole `data`; digit k of all numbers that have one is added in step k."""
    last = np.flatnonzero(data < 0x80)
    first = np.concatenate(([0], last[:-1] + 1))
    values = (data[first] & 0x7F).astype(np.uint64)
    longer = np.flatnonzero(last > first)
    for digit in range(1, 11):
        if not longer.size:
            return values
        if digit == 10:
            break
        part = (data[first[longer] + digit] & 0x7F).astype(np.uint64)
        values[longer] |= part << np.uint64(7 * digit)
        longer = longer[last[longer] > first[longer] + digit]
    raise _error(ref, "tensor-malformed", "a number is longer than ten bytes")


def _fit(ref: StoredWeight, values: NDArray[np.uint64], width: int) -> _Bytes:
    """`values` in `width` bits each, as bytes, where all of them fit the dtype."""
    if width == 64:
        return values.view(np.uint8)
    dtype = dtype_of(ref.dtype)
    target: np.dtype[Any] = dtype if dtype.kind in "iu" else np.dtype(f"uint{width}")
    signed = values.view(np.int64)
    if ref.dtype != "uint32":
        # The field is an int32, of which protobuf reads the low half, sign-extended or not.
        signed = values.astype(np.uint32).view(np.int32).astype(np.int64)
    limits = np.iinfo(target)
    if values.size and (signed.min() < limits.min or signed.max() > limits.max):
        raise _error(ref, "tensor-value-range", f"a stored number does not fit {ref.dtype}")
    return signed.astype(target).view(np.uint8)


def _unpack(data: _Bytes, bits: int, count: int) -> _Bytes:
    """One element a byte from `8 // bits` elements a byte, lowest bits first."""
    per_byte = 8 // bits
    out = np.empty((data.size, per_byte), np.uint8)
    for index in range(per_byte):
        out[:, index] = (data >> np.uint8(bits * index)) & np.uint8((1 << bits) - 1)
    return out.reshape(-1)[:count]
