# SPDX-License-Identifier: MIT OR Apache-2.0
"""The native code that a compiled model is given, the same for all."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from functools import cache

from xyntra.targets.cuda.native.array_code import ARRAY_CODE
from xyntra.targets.cuda.native.builtins import LoadedCode, is_known_python
from xyntra.targets.cuda.native.context_code import CONTEXT_CODE
from xyntra.targets.cuda.native.host_code import HostCode, compile_host_code, this_machine
from xyntra.targets.cuda.native.tensor_code import TENSOR_CODE

__all__ = ["CALL_CODE", "compile_call_code", "loaded_code"]

CALL_CODE = CONTEXT_CODE + TENSOR_CODE + ARRAY_CODE
"""LLVM IR of the builtins `call_tensors`, `start` and `finish`."""


def compile_call_code() -> bytes:
    """Return them as data for `loaded_code`; empty where no such code is made."""
    try:
        code = compile_host_code(CALL_CODE)
    except RuntimeError:  # another version of LLVM; Python starts the calls then
        return b""
    return b"" if code is None else replace(code, interface=_interface()).to_bytes()


@cache  # functions read what they are made of when they are collected
def loaded_code(data: bytes) -> LoadedCode | None:
    """Return the functions of a model's file; None where they cannot be used."""
    code = HostCode.from_bytes(data) if data else None
    if code is None or (code.machine, code.interface) != (this_machine(), _interface()):
        return None
    if not is_known_python():
        return None
    try:
        return LoadedCode(code)
    except OSError:
        return None


@cache
def _interface() -> str:
    """Return what code and tables agree on: those of another version may lie elsewhere."""
    return hashlib.sha256(CALL_CODE.encode()).hexdigest()[:16]
