# SPDX-License-Identifier: MIT OR Apache-2.0
"""`packed-products`: products with matrices of 4 or 8 bits, which the bodies dequantize."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul_packed.packed_dots import PackedDots
from xyntra.passes.lower.cpu.matmul_packed.packed_rows import PackedRows
from xyntra.passes.lower.cpu.matmul_packed.packed_words import PackedWords
from xyntra.passes.lower.cpu.rows.filled_reductions import filled
from xyntra.passes.lower.cpu.schedule.emitter import EmitterSweep, emit_scheduled
from xyntra.passes.lower.kernels.fills import is_arithmetic_reduction
from xyntra.passes.registry import register_pass

__all__ = ["STAGE", "PackedProducts"]

STAGE = EmitterSweep(
    "packed-products",
    filled(is_arithmetic_reduction),
    (PackedDots(), PackedWords(), PackedRows()),
)


@register_pass
@dataclass(frozen=True)
class PackedProducts:
    """Rewrite products of rows with a matrix of bytes on memrefs, as the bytes lie in memory.

    Applies to a linalg.generic whose output is filled right before, and whose body dequantizes one
    integer or two of a byte and adds products of f32. Lanes of vectors run along the bytes of a
    column: in words of 32 bits where few rows meet blocks with a scale and a zero point, as
    integers where the rows are such, too, else byte by byte, or from a block of columns that is
    dequantized into the cache first.
    """

    name: ClassVar[str] = "packed-products"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is scheduled so below `module`."""
        emit_scheduled(module, STAGE)
