# SPDX-License-Identifier: MIT OR Apache-2.0
"""Object code of functions that LLVM calls for what a processor has no instruction for."""

from __future__ import annotations

from functools import lru_cache

from xyntra.targets.cpu.codegen import compile_object
from xyntra.targets.cpu.support_sources import SOURCES

__all__ = ["support_object"]


@lru_cache(maxsize=len(SOURCES))
def support_object(name: str) -> bytes:
    """Object code of the function `name`, a key of `SOURCES`."""
    return compile_object(SOURCES[name], opt_level=1)
