# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads and writes arrays by name as safetensors."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any

import xyntra.array as xa
from xyntra.array import Array
from xyntra.array.dtypes import DTYPES, ElementType
from xyntra.errors import ModelError
from xyntra.plan.storage.files import replace_file

__all__ = ["load_safetensors", "save_safetensors"]

_NAMES = {
    "F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16", "I64": "int64",
    "I32": "int32", "I16": "int16", "I8": "int8", "U64": "uint64", "U32": "uint32",
    "U16": "uint16", "U8": "uint8", "BOOL": "bool",
}  # fmt: skip
_CODES = {name: code for code, name in _NAMES.items()}
_MOST_HEADER = 100_000_000
"""Bytes of a header that the format allows."""


def save_safetensors(arrays: Mapping[str, Array], path: str | os.PathLike[str]) -> None:
    """Write arrays, all of them computed by one executable, into a file."""
    xa.compute(*arrays.values())
    header: dict[str, Any] = {}
    parts, end = [], 0
    for name, array in arrays.items():
        data = array.numpy().tobytes()
        header[name] = {
            "dtype": _CODES[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [end, end + len(data)],
        }
        parts.append(data)
        end += len(data)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    replace_file(path, [len(text).to_bytes(8, "little"), text, *parts])


def load_safetensors(path: str | os.PathLike[str]) -> dict[str, Array]:
    """Return the arrays of a file by name.

    Raises:
        ModelError: there is no such file, or it is damaged.
    """
    import numpy as np

    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise ModelError(
            "model-unreadable", "the file cannot be read", place=str(path), cause=str(error)
        ) from None
    length = int.from_bytes(content[:8], "little")
    if len(content) < 8 or length > min(_MOST_HEADER, len(content) - 8):
        raise _damaged(path, "the header is longer than the file")
    try:
        header = json.loads(content[8 : 8 + length])
    except (ValueError, RecursionError):
        raise _damaged(path, "the header is no JSON") from None
    if not isinstance(header, dict):
        raise _damaged(path, "the header is no object")
    data, found = memoryview(content)[8 + length :], {}
    for name, fields in header.items():
        if name == "__metadata__":
            continue
        dtype, shape, start, end = _checked(path, name, fields, len(data))
        elements = np.frombuffer(data[start:end], dtype.numpy).reshape(shape)
        found[name] = xa.asarray(elements)
    return found


def _checked(
    path: Any, name: str, fields: Any, size: int
) -> tuple[ElementType, tuple[int, ...], int, int]:
    """Return the fields of an array once they are known to fit each other and the file."""
    try:
        dtype = DTYPES[_NAMES[fields["dtype"]]]
        shape = tuple(fields["shape"])
        start, end = fields["data_offsets"]
        sizes = [*shape, start, end]
        fits = all(type(each) is int and 0 <= each < 1 << 62 for each in sizes)
        fits = (
            fits
            and len(shape) <= 64
            and end <= size
            and end - start == prod(shape) * dtype.itemsize
        )
    except (KeyError, TypeError, ValueError):
        fits = False
    if not fits:
        raise _damaged(path, f"the entry of '{name}' does not fit")
    return dtype, shape, start, end


def _damaged(path: Any, cause: str) -> ModelError:
    return ModelError("model-damaged", "the file is no safetensors", place=str(path), cause=cause)
