# SPDX-License-Identifier: MIT OR Apache-2.0
"""DLPack: capsules that describe arrays of other libraries, read and made.

The structures are those of DLPack's dlpack.h, before version 1.0, which every library takes.
"""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import lru_cache
from typing import Any, NamedTuple

CUDA, CUDA_MANAGED = 2, 13
"""Numbers of DLPack's devices whose memory a GPU works on."""
LEGACY_STREAM = 1
"""DLPack's name of the stream that CUDA calls 0."""
_NAME = b"dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT = 4
_KINDS = {0: "int", 1: "uint", 2: "float"}


# DLManagedTensor: address, kind and number of the device, rank, code, bits and lanes of the type,
# addresses of shape and strides, offset in bytes; a context, and who lets go.
_MANAGED = struct.Struct("=QiiiBBHQQQQQ")
_Memory = ctypes.c_char * _MANAGED.size


# Prototypes of our own: those of `ctypes.pythonapi` belong to every module of the process.
_new_capsule = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p
)(("PyCapsule_New", ctypes.pythonapi))
_is_valid = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_IsValid", ctypes.pythonapi)
)
_pointer_in = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_char_p)(
    ("PyCapsule_GetPointer", ctypes.pythonapi)
)


class Described(NamedTuple):
    """The description of an array in a capsule.

    Attributes:
        address: of its first element.
        device: DLPack's number of the kind of device, and which one.
        dtype: such as "float32".
        shape: its dimensions.
        is_contiguous: whether it is row-major without gaps.
    """

    address: int
    device: tuple[int, int]
    dtype: str
    shape: tuple[int, ...]
    is_contiguous: bool


def describe(capsule: Any) -> Described:
    """Return what a capsule describes; the memory is the array's as long as the capsule lives.

    Raises:
        ValueError: it is no capsule of DLPack, or was used before.
    """
    if not _is_valid(id(capsule), _NAME):
        raise ValueError("not a capsule of DLPack")
    managed = ctypes.string_at(_pointer_in(id(capsule), _NAME), _MANAGED.size)
    data, kind, number, rank, code, bits, lanes, sizes, steps, offset, _, _ = _MANAGED.unpack(
        managed
    )
    shape = _words(sizes, rank)
    return Described(
        address=data + offset,
        device=(kind, number),
        dtype=_dtype_name(code, bits, lanes),
        shape=shape,
        is_contiguous=not steps or is_row_major(shape, _words(steps, rank)),
    )


def _words(address: int, count: int) -> tuple[int, ...]:
    return struct.unpack(f"={count}q", ctypes.string_at(address, 8 * count)) if count else ()


def is_row_major(shape: Sequence[int], strides: Sequence[int]) -> bool:
    """Tell whether elements lie one behind the other, the last dimension innermost."""
    expected = 1
    if 0 in shape:
        return True
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        if size > 1 and stride != expected:
            return False
        expected *= size
    return True


def capsule_of(
    owner: object, address: int, ordinal: int, dtype: str, item_bytes: int, shape: Sequence[int]
) -> Any:
    """Return a capsule for row-major memory of a GPU.

    Args:
        owner: keeps the memory; is kept until whoever takes the capsule has done with it.
        address: of the first element.
        ordinal: the GPU.
        dtype: such as "float32".
        item_bytes: bytes of an element.
        shape: the dimensions.
    """
    sizes = _dimensions(tuple(shape))
    managed = _Memory()
    place, rank = ctypes.addressof(managed), len(shape)
    code, bits = type_words(dtype, item_bytes)
    fields = address, CUDA, ordinal, rank, code, bits, 1, ctypes.addressof(sizes), 0, 0, 0, _DELETE
    _MANAGED.pack_into(managed, 0, *fields)
    _exported[place] = (managed, sizes, owner)
    return _new_capsule(place, _NAME, _DESTROY)


@lru_cache(maxsize=256)
def _dimensions(shape: tuple[int, ...]) -> Any:
    """Return the dimensions in memory; all arrays of a shape may point there."""
    return (ctypes.c_int64 * max(len(shape), 1))(*shape)


def type_words(dtype: str, item_bytes: int) -> tuple[int, int]:
    """Return DLPack's code of a type and its bits."""
    return _BFLOAT if dtype == "bfloat16" else _CODES[dtype[0]], 8 * item_bytes


def _dtype_name(code: int, bits: int, lanes: int) -> str:
    if lanes != 1:
        return "vectors"
    if code == _BFLOAT:
        return "bfloat16" if bits == 16 else f"bfloat{bits}"
    if code == _CODES["b"]:
        return "bool"
    kind = _KINDS.get(code)
    return f"{kind}{bits}" if kind else f"type {code}"


_exported: dict[int, tuple[Any, Any, object]] = {}


def _let_go(managed: int) -> None:
    """Called by whoever took a capsule."""
    _exported.pop(managed, None)


def _drop(capsule: int) -> None:
    """Called by Python for a capsule that goes; nobody took it if it still has its name."""
    if _is_valid(capsule, _NAME):
        _exported.pop(_pointer_in(capsule, _NAME), None)


_delete = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(_let_go)
_destroy = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(_drop)
_DELETE = ctypes.cast(_delete, ctypes.c_void_p).value
_DESTROY = ctypes.cast(_destroy, ctypes.c_void_p).value
