# SPDX-License-Identifier: MIT OR Apache-2.0
"""Names the versions of all that generates code, for cache keys."""

from __future__ import annotations

import importlib.util
import os
from functools import lru_cache

from xyntra.build_id import build_id

__all__ = ["compiler_key"]


@lru_cache(maxsize=1)
def compiler_key() -> str:
    """Return, as one line for cache keys, what generates code; LLVM is not loaded for it."""
    return f"llvm={_stamp('llvmlite')};mlir={_stamp('torch_mlir')};xyntra={build_id()}"


def _stamp(package: str) -> int:
    """When a package was installed: reading its version would cost more than the rest of a key."""
    spec = importlib.util.find_spec(package)
    return os.stat(spec.origin).st_mtime_ns if spec is not None and spec.origin else 0
