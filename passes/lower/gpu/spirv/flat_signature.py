# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps functions of a device, and their launches, in step with memory that changes its type."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, operations_named

__all__ = ["FUNCTION", "pass_memory", "set_inputs"]

FUNCTION = "gpu.func"
_LAUNCH = "gpu.launch_func"


def set_inputs(function: ir.Operation) -> None:
    """Write down the types that the arguments of a function have by now."""
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [each.type for each in entry_block(function).arguments][: len(signature.inputs)]
    kind = ir.FunctionType.get(inputs, signature.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def pass_memory(module: ir.Operation, kind_of: Callable[[ir.MemRefType], ir.MemRefType]) -> None:
    """Let launches give their functions memory of the types that these take by now.

    Args:
        module: holds the launches.
        kind_of: of the type that an argument had before.
    """
    for launch in operations_named(module, _LAUNCH):
        for number, operand in enumerate(launch.operands):
            if not isinstance(operand.type, ir.MemRefType):
                continue
            kind = kind_of(operand.type)
            if kind != operand.type:
                with launch.location, ir.InsertionPoint(launch):
                    view = "builtin.unrealized_conversion_cast"
                    launch.operands[number] = emit(view, [operand], kind)
