# SPDX-License-Identifier: MIT OR Apache-2.0
"""DLPack: capsules that describe arrays of other libraries, read and made.

The structures are those of DLPack's dlpack.h, before version 1.0, which every library takes.
"""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

CUDA, CUDA_MANAGED = 2, 13
"""Numbers of DLPack's devices whose memory a GPU works on."""
LEGACY_STREAM = 1
"""DLPack's name of the stream that CUDA calls 0."""
_NAME = b"dltensor"
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}
_BFLOAT = 4
_KINDS = {0: "int", 1: "uint", 2: "float"}


class _Device(ctypes.Structure):
    _fields_ = (("kind", ctypes.c_int32), ("number", ctypes.c_int32))


class _Type(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16))


class _Tensor(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_void_p),
        ("device", _Device),
        ("rank", ctypes.c_int32),
        ("dtype", _Type),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("byte_offset", ctypes.c_uint64),
    )


class _Managed(ctypes.Structure):
    _fields_ = (
        ("tensor", _Tensor),
        ("context", ctypes.c_void_p),
        ("deleter", ctypes.c_void_p),
    )


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


@dataclass(frozen=True)
class Described:
    """What a capsule says of an array.

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
    pointer = _pointer_in(id(capsule), _NAME)
    tensor = _Managed.from_address(pointer).tensor
    sizes = ctypes.c_int64 * tensor.rank
    shape = tuple(sizes.from_address(tensor.shape)) if tensor.rank else ()
    strides = tuple(sizes.from_address(tensor.strides)) if tensor.strides and shape else None
    return Described(
        address=(tensor.data or 0) + tensor.byte_offset,
        device=(tensor.device.kind, tensor.device.number),
        dtype=_dtype_name(tensor.dtype),
        shape=shape,
        is_contiguous=strides is None or is_row_major(shape, strides),
    )


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
    sizes = (ctypes.c_int64 * max(len(shape), 1))(*shape)
    kind, device = _Type(*type_words(dtype, item_bytes), 1), _Device(CUDA, ordinal)
    tensor = _Tensor(address, device, len(shape), kind, ctypes.addressof(sizes), None, 0)
    managed = _Managed(tensor, None, _DELETE)
    place = ctypes.addressof(managed)
    _exported[place] = (managed, sizes, owner)
    return _new_capsule(place, _NAME, _DESTROY)


def type_words(dtype: str, item_bytes: int) -> tuple[int, int]:
    """Return DLPack's code of a type and its bits."""
    return _BFLOAT if dtype == "bfloat16" else _CODES[dtype[0]], 8 * item_bytes


def _dtype_name(dtype: _Type) -> str:
    if dtype.lanes != 1:
        return "vectors"
    if dtype.code == _BFLOAT:
        return "bfloat16" if dtype.bits == 16 else f"bfloat{dtype.bits}"
    if dtype.code == _CODES["b"]:
        return "bool"
    kind = _KINDS.get(dtype.code)
    return f"{kind}{dtype.bits}" if kind else f"type {dtype.code}"


_exported: dict[int, tuple[_Managed, Any, object]] = {}


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
