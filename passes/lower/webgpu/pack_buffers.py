# SPDX-License-Identifier: MIT OR Apache-2.0
"""`pack-buffers`: launches that read many buffers find some of them side by side in one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import prod
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import entry_block, function_name, operations_named
from xyntra.passes.lower.gpu.launching.outline import ARGUMENTS, LASTING, LAUNCH
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.registry import register_pass

__all__ = ["OFFSETS", "PackBuffers"]

OFFSETS = "xyntra.offsets"
"""Attribute of a cast of several buffers to one: the words at which these begin there."""
_LOAD, _CAST, _SEGMENTS = "memref.load", "builtin.unrealized_conversion_cast", "operandSegmentSizes"


@register_pass
@dataclass(frozen=True)
class PackBuffers:
    """Let a launch that is given more buffers than fit read some from a copy of all of them.

    The host copies them before the launch. Memory is of words, and flat, by then, and that of
    workgroups is allocated.
    """

    name: ClassVar[str] = "pack-buffers"
    limit: int = 8
    """Storage buffers of a launch (WebGPU, "maxStorageBuffersPerShaderStage")."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the launches of `module`, and what they launch.

        Raises:
            CompileError: a launch writes to too many buffers.
        """
        functions = {function_name(op): op for op in operations_named(module, "gpu.func")}
        replaced = []
        for launch in operations_named(module, LAUNCH):
            function = functions[str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])]
            signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
            if len(signature.inputs) > self.limit:
                packed = _choice(function, len(signature.inputs), self.limit)
                with function.location:
                    _pass_packed(function, len(signature.inputs), packed)
                _launch_packed(launch, packed)
                replaced.append(launch)
        for launch in replaced:
            launch.erase()


def _choice(function: ir.Operation, count: int, limit: int) -> list[int]:
    """Return which arguments to pack: the smallest that are only read."""
    arguments = list(entry_block(function).arguments)[:count]
    read = [each.arg_number for each in arguments if _is_only_read(each)]
    wanted = count - limit + 1
    if len(read) < wanted:
        message = f"a launch writes to {count - len(read)} buffers, and {limit} can be bound"
        place = f"function '{function_name(function)}'"
        raise CompileError("gpu-buffers", message, place=place)
    smallest = sorted(read, key=lambda number: _words(arguments[number].type))
    return sorted(smallest[:wanted])


def _is_only_read(memory: ir.Value) -> bool:
    return all(use.owner.operation.name == _LOAD for use in memory.uses)


def _words(kind: ir.Type) -> int:
    memory = ir.MemRefType(kind)
    return int(memory.shape[0]) * _lanes(memory.element_type)


def _lanes(kind: ir.Type) -> int:
    """Return how many words an element of memory has."""
    return int(prod(kind.shape)) if isinstance(kind, ir.VectorType) else 1


def _starts(kinds: Sequence[ir.Type]) -> list[int]:
    """Return the words at which buffers begin; the last is behind all of them."""
    return list(accumulate((_words(each) for each in kinds), initial=0))


def _memory(kinds: Sequence[ir.Type]) -> ir.MemRefType:
    space = ir.MemRefType(kinds[0]).memory_space
    word = ir.IntegerType.get_signless(32)
    return ir.MemRefType.get([_starts(kinds)[-1]], word, memory_space=space)


def _pass_packed(function: ir.Operation, count: int, packed: list[int]) -> None:
    """Let a function take one buffer behind the others for those of some numbers."""
    block = entry_block(function)
    kinds = [block.arguments[number].type for number in packed]
    whole = block.add_argument(_memory(kinds), function.location)
    replaced = []
    for number, start in zip(packed, _starts(kinds)[:-1], strict=True):
        for op in [use.owner.operation for use in block.arguments[number].uses]:
            with op.location, ir.InsertionPoint(op):
                value = _loaded(whole, op.operands[1], start, op.result.type)
            op.result.replace_all_uses_with(value)
            replaced.append(op)
    for op in replaced:
        op.erase()
    for number in reversed(packed):
        block.erase_argument(number)
    if LASTING in function.attributes:
        lasting = list(ir.DenseBoolArrayAttr(function.attributes[LASTING]))
        kept = [each for number, each in enumerate(lasting) if number not in packed]
        function.attributes[LASTING] = ir.DenseBoolArrayAttr.get([*kept, False])
    inputs = [each.type for each in block.arguments][: count - len(packed) + 1]
    function.attributes["function_type"] = ir.TypeAttr.get(ir.FunctionType.get(inputs, []))


def _loaded(whole: ir.Value, number: ir.Value, start: int, kind: ir.Type) -> ir.Value:
    """Return an element of that type, whose buffer begins at word `start` of another one."""
    if isinstance(kind, ir.VectorType):
        lanes, element = _lanes(kind), kind.element_type
        first = arith.muli(number, index(lanes))
        parts = [_loaded(whole, first, start + each, element) for each in range(lanes)]
        return emit("spirv.CompositeConstruct", parts, kind)
    place = arith.addi(number, index(start))
    word = emit(_LOAD, [whole, place], ir.MemRefType(whole.type).element_type)
    return word if kind == word.type else emit("arith.bitcast", [word], kind)


def _launch_packed(launch: ir.Operation, packed: list[int]) -> None:
    segments = list(ir.DenseI32ArrayAttr(launch.attributes[_SEGMENTS]))
    first = sum(segments[:ARGUMENTS])
    given = list(launch.operands)
    together = [given[first + number] for number in packed]
    kinds = [each.type for each in together]
    others = [each for number, each in enumerate(given) if number - first not in packed]
    segments[ARGUMENTS] += 1 - len(packed)
    attributes = {name: launch.attributes[name] for name in launch.attributes}
    with launch.location, ir.InsertionPoint(launch):
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(segments)
        offsets = ir.DenseI64ArrayAttr.get(_starts(kinds)[:-1])
        whole = emit(_CAST, together, _memory(kinds), **{OFFSETS: offsets})
        ir.Operation.create(LAUNCH, operands=[*others, whole], attributes=attributes)
