# SPDX-License-Identifier: MIT OR Apache-2.0
"""`bf16-as-integers`: memory of bf16 holds their bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, operations_named
from xyntra.passes.registry import register_pass

_FUNCTION, _LAUNCH = "gpu.func", "gpu.launch_func"
_MEMORY = ("memref.load", "memref.store", "memref.alloc")


@register_pass
@dataclass(frozen=True)
class Bf16AsIntegers:
    """Let every `gpu.func` keep the bits of bf16 as i16 in its memory.

    MLIR's conversion to SPIR-V would take memory of f32 for it. `flatten-memory` and
    `scalarize-vectors` go before; conversions to and from f32 are left to `arith-expand`.
    """

    name: ClassVar[str] = "bf16-as-integers"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`."""
        with module.context, module.location:
            for function in operations_named(module, _FUNCTION):
                _rewrite(function)
            for launch in operations_named(module, _LAUNCH):
                _pass_bits(launch)


def _bits() -> ir.Type:
    return ir.IntegerType.get_signless(16)


def _is_bf16(value: ir.Value) -> bool:
    kind = value.type
    return isinstance(kind, ir.MemRefType) and isinstance(kind.element_type, ir.BF16Type)


def _of_bits(kind: ir.Type) -> ir.MemRefType:
    memory = ir.MemRefType(kind)
    return ir.MemRefType.get(memory.shape, _bits(), memory.layout, memory.memory_space)


def _rewrite(function: ir.Operation) -> None:
    touched = operations_named(function, *_MEMORY)
    loads = [op for op in touched if op.name == "memref.load" and _is_bf16(op.operands[0])]
    stores = [op for op in touched if op.name == "memref.store" and _is_bf16(op.operands[1])]
    memory = [op.result for op in touched if op.name == "memref.alloc" and _is_bf16(op.result)]
    memory += [each for each in entry_block(function).arguments if _is_bf16(each)]
    for op in stores:
        with op.location, ir.InsertionPoint(op):
            op.operands[0] = emit("arith.bitcast", [op.operands[0]], _bits())
    for op in loads:
        with op.location, ir.InsertionPoint.after(op):
            number = emit("arith.bitcast", [op.result], op.result.type)
        op.result.replace_all_uses_except(number, number.owner.operation)
        op.result.set_type(_bits())
    for each in memory:
        each.set_type(_of_bits(each.type))
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [each.type for each in entry_block(function).arguments][: len(signature.inputs)]
    kind = ir.FunctionType.get(inputs, signature.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _pass_bits(launch: ir.Operation) -> None:
    for number, operand in enumerate(launch.operands):
        if _is_bf16(operand):
            with launch.location, ir.InsertionPoint(launch):
                view = "builtin.unrealized_conversion_cast"
                launch.operands[number] = emit(view, [operand], _of_bits(operand.type))
