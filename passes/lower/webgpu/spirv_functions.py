# SPDX-License-Identifier: MIT OR Apache-2.0
"""Helpers of passes on SPIR-V: its modules, functions and variables."""

from __future__ import annotations

from collections.abc import Iterator

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named

__all__ = ["bitcast", "local_variable", "operations_in", "spirv_functions"]


def spirv_functions(module: ir.Operation) -> list[ir.Operation]:
    """Return the functions of SPIR-V in a module."""
    return operations_named(module, "spirv.func")


def operations_in(function: ir.Operation) -> Iterator[ir.Operation]:
    """Yield the operations of a function, in order."""
    found: list[ir.Operation] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        found.append(op)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    yield from found


def bitcast(value: ir.Value, kind: ir.Type) -> ir.Value:
    """Emit the same bits in another type."""
    return emit("spirv.Bitcast", [value], kind)


def local_variable(function: ir.Operation, kind: ir.Type) -> ir.Value:
    """Return a new variable of a function, which holds nothing yet."""
    pointer = ir.Type.parse(f"!spirv.ptr<{kind}, Function>", function.context)
    storage = ir.Attribute.parse("#spirv.storage_class<Function>", function.context)
    block = function.regions[0].blocks[0]
    with function.location, ir.InsertionPoint.at_block_begin(block):
        return emit("spirv.Variable", [], pointer, storage_class=storage)
