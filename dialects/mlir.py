# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports the MLIR bindings without what a command-line tool should not wait for.

`torch_mlir.ir` imports numpy to register four attribute builders that no op of ours uses. Where
the process has not imported numpy yet, it is hidden during that import (the bindings expect that it
may be absent), which takes a third off a tool's start-up; numpy itself can be imported afterwards.
Other threads might import it meanwhile, so that it is not hidden where there are any.

When an op is first seen, the bindings import the Python module of its dialect. For linalg that
pulls in a whole embedded language, numpy and yaml; `xyntra.dialects.bindings` comes first in the
search path and holds a linalg module with the generated op classes only.

Operations are equal if they are one operation, but the bindings hash them by what they hold: name,
attributes, operands and types. One that is changed while it is in a set or a key of a dict would
not be found there any more. Here they are hashed by their address, which stays.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from importlib import import_module

_OURS = "xyntra.dialects.bindings"


def _import_ir() -> None:
    threading = sys.modules.get("threading")
    alone = threading is None or threading.active_count() == 1
    if not alone or "torch_mlir.ir" in sys.modules or "numpy" in sys.modules:
        import torch_mlir.ir

        return
    sys.modules["numpy"] = None  # type: ignore[assignment]
    try:
        import torch_mlir.ir  # noqa: F401
    finally:
        del sys.modules["numpy"]


def _prefer_our_bindings() -> None:
    bindings = import_module("torch_mlir._mlir_libs._mlir").globals
    modules = list(bindings.dialect_search_modules)
    if _OURS not in modules:
        bindings.dialect_search_modules = [_OURS, *modules]


def _hash_by_address() -> None:
    pointer_in: Callable[[object, bytes], int] = ctypes.PYFUNCTYPE(
        ctypes.c_size_t, ctypes.py_object, ctypes.c_char_p
    )(("PyCapsule_GetPointer", ctypes.pythonapi))
    name = b"torch_mlir.ir.Operation._CAPIPtr"

    def of_operation(op: ir.Operation) -> int:
        return pointer_in(op._CAPIPtr, name)

    ir.Operation.__hash__ = of_operation
    ir.OpView.__hash__ = lambda view: of_operation(view.operation)


_import_ir()
_prefer_our_bindings()

from torch_mlir import ir  # noqa: E402

_hash_by_address()

__all__ = ["ir"]
