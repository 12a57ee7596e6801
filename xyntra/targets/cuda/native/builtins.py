# SPDX-License-Identifier: MIT OR Apache-2.0
"""Machine code as builtin functions of Python, which cost less to call than foreign ones.

A builtin (METH_FASTCALL) is given an object and a C array of arguments. The object is a `bytes` of
eight, the address of a table where the code finds all else: functions, expected arrays, graphs.
"""

from __future__ import annotations

import ctypes
import mmap
import sys
import sysconfig
from collections.abc import Callable
from typing import Any

from xyntra.targets.cuda.native.host_code import HostCode

__all__ = ["BYTES_OFFSET", "TYPE_OFFSET", "LoadedCode", "api_function", "is_known_python"]

TYPE_OFFSET = 8
"""Where an object holds its type."""
BYTES_OFFSET = 32
"""Where a `bytes` holds its first byte."""
_FASTCALL = 0x80  # METH_FASTCALL
_POINTER_BYTES = 8


class _Method(ctypes.Structure):
    """PyMethodDef of CPython's methodobject.h."""

    _fields_ = (
        ("name", ctypes.c_char_p),
        ("function", ctypes.c_void_p),
        ("flags", ctypes.c_int),
        ("text", ctypes.c_char_p),
    )


# A prototype of our own: those of `ctypes.pythonapi` belong to every module of the process.
_new_function = ctypes.PYFUNCTYPE(
    ctypes.py_object, ctypes.c_void_p, ctypes.py_object, ctypes.c_void_p
)(("PyCFunction_NewEx", ctypes.pythonapi))


class LoadedCode:
    """Functions in executable memory, which must be there as long as the functions.

    Args:
        code: the functions, for this machine.

    Raises:
        OSError: this system does not let memory be executed.
    """

    def __init__(self, code: HostCode) -> None:
        nbytes = -(-len(code.code) // mmap.PAGESIZE) * mmap.PAGESIZE
        self._memory = mmap.mmap(-1, nbytes)
        self._memory.write(code.code)
        self._start = ctypes.addressof(ctypes.c_char.from_buffer(self._memory))
        self._methods = {
            name: _Method(name.encode(), self._start + entry, _FASTCALL, None)
            for name, entry in code.entries.items()
        }
        protect = ctypes.CDLL(None, use_errno=True).mprotect
        protect.argtypes = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
        if protect(self._start, nbytes, mmap.PROT_READ | mmap.PROT_EXEC):
            raise OSError(ctypes.get_errno(), "memory may not be executed")

    def builtin(self, name: str, table: ctypes.Structure) -> Callable[..., Any]:
        """Return a function that works on a table, which must be there as long as it is called."""
        place = ctypes.addressof(table).to_bytes(_POINTER_BYTES, sys.byteorder)
        made: Callable[..., Any] = _new_function(ctypes.addressof(self._methods[name]), place, None)
        return made


def api_function(name: str) -> int:
    """Return the address of a function of CPython's C API."""
    return ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0


def is_known_python() -> bool:
    """Tell whether objects lie in memory as the code expects."""
    if sys.implementation.name != "cpython" or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    if object.__basicsize__ != TYPE_OFFSET + _POINTER_BYTES:
        return False
    probe = b"where bytes are"
    held = ctypes.c_void_p.from_address(id(probe) + TYPE_OFFSET).value
    return ctypes.string_at(id(probe) + BYTES_OFFSET, len(probe)) == probe and held == id(bytes)
