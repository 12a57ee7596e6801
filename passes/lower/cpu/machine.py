# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes the processor that kernels are lowered for."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers

__all__ = ["LoweringOptions"]


@dataclass(frozen=True)
class LoweringOptions:
    """The machine that is lowered for: its registers, instructions and caches."""

    vector_bits: int = 256
    """Width of a vector register; 0 leaves vectors to LLVM."""
    vector_registers: int = 16
    dot_products: str = "none"
    """Instructions for narrow integers; see `dot_products.KINDS`."""
    cache_bytes: int = 24 << 20
    """A kernel that moves more finds nothing of it in the caches again."""

    def registers(self, element: ir.Type) -> Registers:
        """Return the vector registers, with how many elements of a type one of them holds."""
        bits = 8 * ITEM_BYTES[str(element)]
        return Registers(self.vector_registers, self.vector_bits // bits)
