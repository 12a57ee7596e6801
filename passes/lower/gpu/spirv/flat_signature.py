# SPDX-License-Identifier: MIT OR Apache-2.0
"""Keeps functions of a device, and their launches, in step with memory that changes its type."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, function_name, operations_named
from xyntra.passes.lower.gpu.launching.outline import ARGUMENTS

__all__ = ["FUNCTION", "pass_arguments", "pass_memory", "set_inputs"]

FUNCTION = "gpu.func"
_LAUNCH, _SEGMENTS = "gpu.launch_func", "operandSegmentSizes"
_VIEW = "builtin.unrealized_conversion_cast"


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
            _give(launch, number, kind_of(operand.type))


def pass_arguments(module: ir.Operation) -> None:
    """Let launches give their functions memory of the types that their signatures say."""
    functions = {function_name(each): each for each in operations_named(module, FUNCTION)}
    for launch in operations_named(module, _LAUNCH):
        function = functions[str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])]
        signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        first = sum(list(ir.DenseI32ArrayAttr(launch.attributes[_SEGMENTS]))[:ARGUMENTS])
        for number, kind in enumerate(signature.inputs):
            _give(launch, first + number, kind)


def _give(launch: ir.Operation, number: int, kind: ir.Type) -> None:
    """Let an operand of a launch be a view of that type of what it was."""
    operand = launch.operands[number]
    if kind != operand.type:
        with launch.location, ir.InsertionPoint(launch):
            launch.operands[number] = emit(_VIEW, [operand], kind)
