# SPDX-License-Identifier: MIT OR Apache-2.0
"""Fills tables of native code with functions of the driver and of Python."""

from __future__ import annotations

import ctypes
from typing import Any

from xyntra.targets.cuda.driver.gpu import Gpu
from xyntra.targets.cuda.native.builtins import api_function

__all__ = ["address_of_words", "fill_functions"]

_PYTHON = {
    "save_thread": "PyEval_SaveThread",
    "restore_thread": "PyEval_RestoreThread",
    "from_long": "PyLong_FromLong",
    "clear_error": "PyErr_Clear",
    "call_function": "PyObject_Vectorcall",
    "retain": "Py_IncRef",
    "release": "Py_DecRef",
    "as_address": "PyLong_AsUnsignedLongLong",
}


def fill_functions(table: Any, gpu: Gpu) -> None:
    """Fill those fields of a table that hold functions and the context of a GPU."""
    names = {name for name, *_ in table._fields_}
    for name, function in _PYTHON.items():
        if name in names:
            setattr(table, name, api_function(function))
    for name, address in gpu.direct.addresses().items():
        setattr(table, name, address)
    table.context = gpu.context
    table.none = id(None)


def address_of_words(values: Any, hold: list[Any]) -> int:
    """Return the address of numbers of 64 bits, in memory that `hold` keeps."""
    words = (ctypes.c_int64 * max(len(values), 1))(*values)
    hold.append(words)
    return ctypes.addressof(words)
