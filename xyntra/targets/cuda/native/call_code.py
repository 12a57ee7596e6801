# SPDX-License-Identifier: MIT OR Apache-2.0
"""The native code that a compiled model is given, the same for all."""

from __future__ import annotations

from xyntra.targets.cuda.native.array_code import ARRAY_CODE
from xyntra.targets.cuda.native.context_code import CONTEXT_CODE
from xyntra.targets.cuda.native.host_code import compile_host_code
from xyntra.targets.cuda.native.tensor_code import TENSOR_CODE

__all__ = ["CALLS", "CALL_CODE", "compile_call_code"]

CALLS = "xyntra.calls"
"""Name of the native code among the compiled kernels."""

CALL_CODE = CONTEXT_CODE + TENSOR_CODE + ARRAY_CODE
"""LLVM IR of the builtins `call_tensors`, `start` and `finish`."""


def compile_call_code() -> bytes:
    """Return them as data for `loaded_code`; empty where no such code is made."""
    try:
        code = compile_host_code(CALL_CODE)
    except RuntimeError:  # another version of LLVM; Python starts the calls then
        return b""
    return b"" if code is None else code.to_bytes()
