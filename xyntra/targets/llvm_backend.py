# SPDX-License-Identifier: MIT OR Apache-2.0
"""llvmlite, imported and initialised on first use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["llvm"]

_LEFT_OUT = "slsr,nary-reassociate"
"""Passes of the GPU's back end that search long chains of sums for common parts: a third of its
time. The CPU's has none of them."""
_KNOWN_LLVM = 22  # the version whose back end has these passes, and the option to leave some out


@lru_cache(maxsize=1)
def llvm() -> Any:
    """Return `llvmlite.binding` with the native target initialised."""
    from llvmlite import binding

    # Before anything is compiled for whatever target: LLVM looks once in a process whether there
    # are passes to leave out. It ends the process at options that it does not know.
    if binding.llvm_version_info[0] == _KNOWN_LLVM:
        binding.set_option("xyntra", f"-opt-disable={_LEFT_OUT}")
    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding
