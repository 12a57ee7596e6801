# SPDX-License-Identifier: MIT OR Apache-2.0
"""Hides numbers from the compiler of a GPU, which would simplify what is computed of them."""

from __future__ import annotations

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block

__all__ = ["hidden", "hidden_zero"]


def hidden_zero(function: ir.Operation) -> ir.Value:
    """Return the third number of a function's workgroup, which is zero, as only the host knows."""
    word = ir.IntegerType.get_signless(32)
    with function.location, ir.InsertionPoint.at_block_begin(entry_block(function)):
        dimension = ir.Attribute.parse("#gpu<dim z>")
        number = emit("gpu.block_id", [], ir.IndexType.get(), dimension=dimension)
        return emit("arith.index_castui", [number], word)


def hidden(value: ir.Value, zero: ir.Value) -> ir.Value:
    """Return a float of 32 bits, of which a compiler no longer knows where it comes from."""
    bits = arith.xori(emit("arith.bitcast", [value], zero.type), zero)
    return emit("arith.bitcast", [bits], value.type)
