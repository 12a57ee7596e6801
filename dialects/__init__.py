# SPDX-License-Identifier: MIT OR Apache-2.0
"""The `xyntra` dialect, and the one way to get an MLIR context that knows it.

Importing this package loads nothing of MLIR; the names below are resolved on first use.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xyntra.dialects.attributes.kernel import KernelFacts
    from xyntra.dialects.attributes.schedule import Schedule
    from xyntra.dialects.context import load, make_context
    from xyntra.dialects.kinds import KINDS, Kind
    from xyntra.dialects.ops.fused import FusedOp

__all__ = ["KINDS", "FusedOp", "KernelFacts", "Kind", "Schedule", "load", "make_context"]

_HOMES = {
    "KINDS": "kinds",
    "FusedOp": "ops.fused",
    "KernelFacts": "attributes.kernel",
    "Kind": "kinds",
    "Schedule": "attributes.schedule",
    "load": "context",
    "make_context": "context",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
    globals()[name] = value
    return value
