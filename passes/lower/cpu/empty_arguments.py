# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arguments without elements become a byte that nobody touches.

MLIR's bare-pointer calling convention leaves a function unconverted, without an error, when an
argument has a zero extent before its last one.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.kernel_function import entry_block, set_signature
from xyntra.passes.lower.cpu.memrefs import view_of_bytes


def pass_empty_arguments_as_bytes(function: ir.Operation) -> None:
    """Give memref arguments with a zero extent the type `memref<1xi8>`, seen through a view."""
    body = entry_block(function)
    byte = ir.MemRefType.get([1], ir.IntegerType.get_signless(8))
    for argument in body.arguments:
        kind = ir.MemRefType(argument.type)
        if 0 not in kind.shape:
            continue
        argument.set_type(byte)
        with ir.InsertionPoint.at_block_begin(body), function.location:
            view = view_of_bytes(argument, kind)
        argument.replace_all_uses_except(view, view.owner.operation)
    set_signature(function, [])
