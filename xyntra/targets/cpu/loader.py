# SPDX-License-Identifier: MIT OR Apache-2.0
"""Object code into this process."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count
from typing import Any

from xyntra.errors import CompileError
from xyntra.targets.cpu.object_symbols import undefined_symbols
from xyntra.targets.cpu.support_sources import SOURCES
from xyntra.targets.llvm_backend import llvm

_LIBRARIES_OF_AN_ENGINE = 32
_numbers = count()


class ObjectLibrary:
    """Loaded object code; equal symbol names in two libraries do not meet.

    The code stays in memory as long as the library: keep it for as long as an address is used.

    Args:
        objects: object code by the name of the symbol that it is loaded for.
        more: further symbols that are to be found.

    Raises:
        CompileError: the code is damaged or cannot be linked here.
    """

    def __init__(self, objects: Mapping[str, bytes], more: Sequence[str] = ()) -> None:
        builder = llvm().JITLibraryBuilder()
        for code in objects.values():
            builder.add_object_img(code)
        for name in (*objects, *more):
            builder.export_symbol(name)
        for name, address in _imports(objects.values()).items():
            builder.import_symbol(name, address)
        number = next(_numbers)
        try:
            engine = _engine(number // _LIBRARIES_OF_AN_ENGINE)
            self._tracker = builder.link(engine, f"xyntra.{number}")
        except RuntimeError as error:
            raise CompileError(
                "object-load", "compiled kernels could not be loaded", cause=str(error)
            ) from error

    def address(self, name: str) -> int:
        """Return the address of a symbol.

        Raises:
            KeyError: no object was loaded under `name`.
        """
        return int(self._tracker[name])

    def keep_for_ever(self) -> None:
        """Leave the code in memory until the process ends."""
        self._tracker.detach()


@lru_cache(maxsize=1)
def _engine(generation: int) -> Any:
    """The engine that links new libraries, of which each keeps its own alive.

    An engine keeps some memory for every library that it ever had. To link each with a new one
    would take milliseconds.
    """
    return llvm().create_lljit_compiler(use_jit_link=False, suppress_errors=True)


def _imports(codes: Iterable[bytes]) -> dict[str, int]:
    names = {name for code in codes for name in undefined_symbols(code)}
    return {name: _host_address(name) for name in sorted(names)}


def _host_address(name: str) -> int:
    if name in SOURCES:
        return _support_library(name).address(name)
    for load in (_process, _math_library):
        function = getattr(load(), name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    message = f"this system has no function '{name}', which compiled kernels call"
    raise CompileError("missing-symbol", message)


@lru_cache(maxsize=len(SOURCES))
def _support_library(name: str) -> ObjectLibrary:
    from xyntra.targets.cpu.support import support_object  # compiles, which few kernels need

    return ObjectLibrary({name: support_object(name)})


@lru_cache(maxsize=1)
def _process() -> ctypes.CDLL | None:
    # Only POSIX systems can look through all that a process has loaded.
    return ctypes.CDLL(None) if os.name == "posix" else None


@lru_cache(maxsize=1)
def _math_library() -> ctypes.CDLL | None:
    from ctypes.util import find_library  # slow to import, and to run

    name = find_library("m") or find_library("msvcrt")
    return ctypes.CDLL(name) if name else None
