# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers that the hardware gives threads and blocks, i32s (PTX ISA, "Special Registers")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.assembly import integer


def tid_x() -> ir.Value:
    """Return the number of the thread in its block."""
    return _register("tid.x")


def ctaid_x() -> ir.Value:
    """Return the number of the block in its launch."""
    return _register("ctaid.x")


def cluster_ctarank() -> ir.Value:
    """Return the number of the block in its cluster."""
    return _register("cluster.ctarank")


def _register(name: str) -> ir.Value:
    return emit(f"nvvm.read.ptx.sreg.{name}", [], integer(32))
