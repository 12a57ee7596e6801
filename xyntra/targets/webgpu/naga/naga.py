# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs naga in wasmtime, with the few functions of JavaScript that its module imports."""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from xyntra.errors import CompileError, MissingExtraError
from xyntra.targets.webgpu.naga.package import naga_module

__all__ = ["Naga", "naga"]

_MANGLED = re.compile(r"^__wbg_|^__wbindgen_|_[0-9a-f]{16}$")
_GENERATED = re.compile(r"^_?_?wbindgen_")
_UNDEFINED = object()


class _Failure(Exception):
    """What naga says of a module."""


@lru_cache(maxsize=1)
def naga() -> Naga:
    """Return the naga of this process, which is made once.

    Raises:
        MissingExtraError: wasmtime, or naga, is not there.
    """
    return Naga()


class Naga:
    """An instance of naga. One thread uses it at a time.

    Raises:
        MissingExtraError: wasmtime, or naga, is not there.
    """

    def __init__(self) -> None:
        try:
            import wasmtime
        except ImportError:
            raise MissingExtraError.for_extra(
                "webgpu", "wasmtime", purpose="writing WGSL"
            ) from None
        self._wasm = wasmtime
        config = wasmtime.Config()
        config.wasm_reference_types = True
        config.parallel_compilation = False  # processes that compile kernels are forked later
        config.memory_reservation = 0  # memory of a process may be limited
        config.cache = True
        self._engine = wasmtime.Engine(config)
        self._module = wasmtime.Module(self._engine, naga_module())
        self._start()

    def wgsl_of(self, spirv: bytes) -> str:
        """Return a SPIR-V module as WGSL.

        Raises:
            CompileError: `naga`, it cannot be read, or is invalid.
        """
        return self._translate("parseSpirv", spirv, "SPIR-V")

    def check(self, wgsl: str) -> None:
        """Read WGSL.

        Raises:
            CompileError: `naga`, it cannot be read, or is invalid.
        """
        self._translate("parseWgsl", wgsl.encode(), "WGSL")

    def _translate(self, function: str, data: bytes, kind: str) -> str:
        try:
            module = self._checked(self._exports[function](self._store, *self._put(data)), 1)
            try:
                return self._written(module)
            finally:
                self._exports["__wbg_module_free"](self._store, module, 0)
        except _Failure as error:
            raise CompileError(
                "naga", f"naga refuses the {kind} of a kernel", cause=str(error)
            ) from error
        except self._wasm.Trap as error:
            self._start()  # what a trap leaves behind cannot be used
            cause = str(error).strip().splitlines()[-1]
            raise CompileError(
                "naga", f"naga failed on the {kind} of a kernel", cause=cause
            ) from error

    def _written(self, module: int) -> str:
        exports, store = self._exports, self._store
        info = self._checked(exports["validate"](store, module), 1)
        try:
            start, length = self._checked(exports["writeWgsl"](store, module, info, _UNDEFINED), 2)
            text = self._text(start, length)
            exports["__wbindgen_free"](store, start, length, 1)
            return text
        finally:
            exports["__wbg_moduleinfo_free"](store, info, 0)

    def _checked(self, answer: list[Any], count: int) -> Any:
        """Return what a function gave: values, then an error, and whether that is one."""
        *values, error, failed = answer
        if failed:
            found = self._table.get(self._store, error)
            self._exports["__externref_table_dealloc"](self._store, error)
            raise found if isinstance(found, _Failure) else _Failure(repr(found))
        return values[0] if count == 1 else values[:count]

    def _start(self) -> None:
        self._store = self._wasm.Store(self._engine)
        imports = [self._import(each) for each in self._module.imports]
        self._exports = self._wasm.Instance(self._store, self._module, imports).exports(self._store)
        self._memory = self._exports["memory"]
        self._table = self._exports["__wbindgen_externrefs"]
        self._exports["__wbindgen_start"](self._store)

    def _import(self, wanted: Any) -> Any:
        short = _GENERATED.sub("", _MANGLED.sub("", _MANGLED.sub("", wanted.name)))
        given: dict[str, Callable[..., Any]] = {
            "Error": lambda start, length: _Failure(self._text(start, length)),
            "throw": self._throw,
            "init_externref_table": self._fill_table,
            "is_undefined": lambda value: int(value is _UNDEFINED),
            "jsval_loose_eq": lambda a, b: int(_loosely(a) == _loosely(b)),
            "generic_0000000000000001": self._text,
        }

        def missing(*_: Any) -> None:
            raise _Failure(f"naga asks for the function '{wanted.name}'")

        return self._wasm.Func(self._store, wanted.type, given.get(short, missing))

    def _throw(self, start: int, length: int) -> None:
        raise _Failure(self._text(start, length))

    def _fill_table(self) -> None:
        """Put the values that JavaScript's glue has there into the table of references."""
        first = self._table.grow(self._store, 4, None)
        self._table.set(self._store, 0, _UNDEFINED)
        for number, value in enumerate((_UNDEFINED, None, True, False)):
            self._table.set(self._store, first + number, value)

    def _text(self, start: int, length: int) -> str:
        first = start & 0xFFFFFFFF
        return bytes(self._memory.read(self._store, first, first + length)).decode()

    def _put(self, data: bytes) -> tuple[int, int]:
        start = self._exports["__wbindgen_malloc"](self._store, len(data), 1)
        self._memory.write(self._store, data, start & 0xFFFFFFFF)
        return start, len(data)


def _loosely(value: Any) -> Any:
    return None if value is _UNDEFINED else value
