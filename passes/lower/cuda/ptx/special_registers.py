# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers that the hardware gives threads and blocks, i32s (PTX ISA, "Special Registers")."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.ptx.assembly import integer


def cluster_ctarank() -> ir.Value:
    """Return the number of the block in its cluster."""
    return emit("nvvm.read.ptx.sreg.cluster.ctarank", [], integer(32))
