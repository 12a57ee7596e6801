# SPDX-License-Identifier: MIT OR Apache-2.0
"""`drop-unused-buffers`: a launch is given only what its function touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, function_name, operations_named
from xyntra.passes.lower.gpu.launching.outline import ARGUMENTS, LASTING, LAUNCH
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION
from xyntra.passes.registry import register_pass

_SEGMENTS = "operandSegmentSizes"


@register_pass
@dataclass(frozen=True)
class DropUnusedBuffers:
    """Take arguments that nothing uses from every `gpu.func`, and from its launches.

    Every function is given all memory of its kernel, and GPUs behind WebGPU promise to bind no more
    than eight buffers at once.
    """

    name: ClassVar[str] = "drop-unused-buffers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`."""
        unused: dict[str, list[int]] = {}
        for function in operations_named(module, FUNCTION):
            signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
            arguments = list(entry_block(function).arguments)[: len(signature.inputs)]
            numbers = [each.arg_number for each in arguments if not list(each.uses)]
            if numbers:
                unused[function_name(function)] = numbers
                with function.location:
                    _drop_arguments(function, len(arguments), numbers)
        replaced = []
        for launch in operations_named(module, LAUNCH):
            numbers = unused.get(str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1]), [])
            if numbers:
                _launch_without(launch, numbers)
                replaced.append(launch)
        for launch in replaced:
            launch.erase()


def _drop_arguments(function: ir.Operation, count: int, unused: list[int]) -> None:
    block = entry_block(function)
    if LASTING in function.attributes:
        lasting = list(ir.DenseBoolArrayAttr(function.attributes[LASTING]))
        kept = [each for number, each in enumerate(lasting) if number not in unused]
        function.attributes[LASTING] = ir.DenseBoolArrayAttr.get(kept)
    for number in reversed(unused):
        block.erase_argument(number)
    inputs = [each.type for each in block.arguments][: count - len(unused)]
    kind = ir.FunctionType.get(inputs, [])
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _launch_without(launch: ir.Operation, unused: list[int]) -> None:
    segments = list(ir.DenseI32ArrayAttr(launch.attributes[_SEGMENTS]))
    first = sum(segments[:ARGUMENTS])
    operands = [
        operand for number, operand in enumerate(launch.operands) if number - first not in unused
    ]
    segments[ARGUMENTS] -= len(unused)
    attributes = {name: launch.attributes[name] for name in launch.attributes}
    with launch.location, ir.InsertionPoint(launch):
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(segments)
        ir.Operation.create(LAUNCH, operands=operands, attributes=attributes)
