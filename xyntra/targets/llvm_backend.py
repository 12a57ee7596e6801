# SPDX-License-Identifier: MIT OR Apache-2.0
"""llvmlite, imported and initialised on first use."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

__all__ = ["llvm"]


@lru_cache(maxsize=1)
def llvm() -> Any:
    """Return `llvmlite.binding` with the native target initialised."""
    from llvmlite import binding

    binding.initialize_native_target()
    binding.initialize_native_asmprinter()
    return binding
