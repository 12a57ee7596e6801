# SPDX-License-Identifier: MIT OR Apache-2.0
"""Memory of arrays, and where it lies."""

from __future__ import annotations

import ctypes
import platform
from typing import Any

import numpy as np

from xyntra.plan.memory import ALIGNMENT

Bytes = np.ndarray[Any, np.dtype[np.uint8]]


_VALUE = ctypes.c_void_p.from_address
_DATA_MEMBER = object.__basicsize__


class _ArrayInterface(ctypes.Structure):
    """PyArrayInterface of numpy's C interface, which `__array_struct__` points to."""

    _fields_ = (
        ("two", ctypes.c_int),
        ("dimensions", ctypes.c_int),
        ("kind", ctypes.c_char),
        ("item_bytes", ctypes.c_int),
        ("flags", ctypes.c_int),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("data", ctypes.c_void_p),
    )


_DATA = _ArrayInterface.data.offset
_pointer_in = ctypes.pythonapi.PyCapsule_GetPointer
_pointer_in.restype = ctypes.c_void_p
_pointer_in.argtypes = (ctypes.py_object, ctypes.c_char_p)


def _data_member(array: np.ndarray[Any, Any]) -> int:
    """The first member of numpy's array object, which its C interface says is the data pointer."""
    return _VALUE(id(array) + _DATA_MEMBER).value or 0


def _interface_data(array: np.ndarray[Any, Any]) -> int:
    interface = array.__array_struct__
    return ctypes.c_void_p.from_address(_pointer_in(interface, None) + _DATA).value or 0


def _knows_layout() -> bool:
    sample = np.arange(9)[2:]
    return platform.python_implementation() == "CPython" and (
        _data_member(sample) == sample.ctypes.data
    )


address_of = _data_member if _knows_layout() else _interface_data
"""The address of an array's first element.

Many times faster than `array.ctypes.data`, which matters once for each input of a call.
"""


def allocate(nbytes: int) -> Bytes:
    """Uninitialised memory at a multiple of 64 bytes; at least one byte."""
    memory = np.empty(max(nbytes, 1) + ALIGNMENT, np.uint8)
    offset = -address_of(memory) % ALIGNMENT
    return memory[offset : offset + max(nbytes, 1)]
