# SPDX-License-Identifier: MIT OR Apache-2.0
"""Atomic operations that order nothing but themselves."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named

_MONOTONIC = 2  # of LLVM's orders of atomic operations


def relax_atomics(module: ir.Operation) -> None:
    """Let atomic operations order nothing but themselves, once they are of the LLVM dialect."""
    for op in operations_named(module, "llvm.atomicrmw"):
        op.attributes["ordering"] = ir.IntegerAttr.get(op.attributes["ordering"].type, _MONOTONIC)
        op.attributes["syncscope"] = ir.StringAttr.get("device")
