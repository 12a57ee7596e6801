# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-buffers`: launches are given a buffer that is larger than a binding in several parts."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar, TypeVar

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import entry_block, function_name, operations_named
from xyntra.passes.lower.gpu.launching.outline import ARGUMENTS, LASTING, LAUNCH
from xyntra.passes.lower.gpu.spirv.flat_signature import FUNCTION
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.registry import register_pass

__all__ = ["WINDOW", "SplitBuffers"]

WINDOW = "xyntra.window"
"""Attribute of a cast of a buffer to a part of it: the first byte of the part."""
_CAST, _SEGMENTS = "builtin.unrealized_conversion_cast", "operandSegmentSizes"
_WORD = 4  # bytes
_Value = TypeVar("_Value")


@register_pass
@dataclass(frozen=True)
class SplitBuffers:
    """Let a function take a large buffer as several parts, and choose one at every access.

    Memory is of words, or of vectors of them, and flat, by then.
    """

    name: ClassVar[str] = "split-buffers"
    limit: int = 1 << 27
    """Bytes of a binding (WebGPU, "maxStorageBufferBindingSize"), a multiple of 256."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`."""
        with module.context, module.location:
            split = {
                function_name(op): found
                for op in operations_named(module, FUNCTION)
                if (found := _split(op, self.limit))
            }
            replaced = []
            for launch in operations_named(module, LAUNCH):
                name = str(ir.SymbolRefAttr(launch.attributes["kernel"]).value[-1])
                if name in split:
                    _launch_with_parts(launch, split[name])
                    replaced.append(launch)
            for launch in replaced:
                launch.erase()


def _split(function: ir.Operation, limit: int) -> dict[int, list[ir.MemRefType]]:
    """Return the types of the parts of every argument that is too large, by its number."""
    block = entry_block(function)
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    large = {
        number: _parts(ir.MemRefType(kind), limit)
        for number, kind in enumerate(signature.inputs)
        if _element_bytes(kind) * ir.MemRefType(kind).shape[0] > limit
    }
    for number, kinds in large.items():
        memory = block.arguments[number]
        parts = [block.add_argument(each, function.location) for each in kinds]
        for op in [use.owner.operation for use in memory.uses]:
            _choose_part(op, memory, parts)
    for number in sorted(large, reverse=True):
        block.erase_argument(number)
    if large:
        inputs = _with_parts(list(signature.inputs), large, lambda number: large[number])
        kind = ir.FunctionType.get(inputs, signature.results)
        function.attributes["function_type"] = ir.TypeAttr.get(kind)
        if LASTING in function.attributes:
            lasting = list(ir.DenseBoolArrayAttr(function.attributes[LASTING]))
            found = _with_parts(lasting, large, lambda n: [lasting[n]] * len(large[n]))
            function.attributes[LASTING] = ir.DenseBoolArrayAttr.get(found)
    return large


def _with_parts(
    values: Sequence[_Value],
    large: Mapping[int, object],
    parts: Callable[[int], Sequence[_Value]],
) -> list[_Value]:
    """Return what is of other arguments, and behind it what is of the parts of the large ones."""
    others = [each for number, each in enumerate(values) if number not in large]
    return [*others, *(part for number in large for part in parts(number))]


def _element_bytes(kind: ir.Type) -> int:
    element = ir.MemRefType(kind).element_type
    return _WORD * int(prod(element.shape) if isinstance(element, ir.VectorType) else 1)


def _parts(kind: ir.MemRefType, limit: int) -> list[ir.MemRefType]:
    most = limit // _element_bytes(kind)
    sizes = [min(most, kind.shape[0] - first) for first in range(0, kind.shape[0], most)]
    return [
        ir.MemRefType.get([size], kind.element_type, memory_space=kind.memory_space)
        for size in sizes
    ]


def _choose_part(op: ir.Operation, memory: ir.Value, parts: Sequence[ir.Value]) -> None:
    """Replace an access by one of the part that holds the element."""
    operands = list(op.operands)
    at = operands.index(memory)
    place = operands[at + 1]
    with op.location, ir.InsertionPoint(op):
        found = _accessed(op, operands, at, place, parts)
    for result, value in zip(op.results, found, strict=True):
        result.replace_all_uses_with(value)
    op.erase()


def _accessed(
    op: ir.Operation,
    operands: list[ir.Value],
    at: int,
    place: ir.Value,
    parts: Sequence[ir.Value],
) -> list[ir.Value]:
    """Emit the access to the first part or, behind it, to one of the others."""
    if len(parts) == 1:
        return _access(op, operands, at, place, parts[0])
    size = index(ir.MemRefType(parts[0].type).shape[0])
    is_first = arith.cmpi(arith.CmpIPredicate.ult, place, size)
    kinds = [each.type for each in op.results]
    branch = scf.IfOp(is_first, kinds, has_else=True)
    with ir.InsertionPoint(branch.then_block):
        scf.YieldOp(_access(op, operands, at, place, parts[0]))
    with ir.InsertionPoint(branch.else_block):
        scf.YieldOp(_accessed(op, operands, at, arith.subi(place, size), parts[1:]))
    return list(branch.results)


def _access(
    op: ir.Operation, operands: list[ir.Value], at: int, place: ir.Value, part: ir.Value
) -> list[ir.Value]:
    copy = ir.Operation.create(
        op.name,
        results=[each.type for each in op.results],
        operands=[*operands[:at], part, place, *operands[at + 2 :]],
        attributes={name: op.attributes[name] for name in op.attributes},
    )
    return list(copy.results)


def _launch_with_parts(launch: ir.Operation, large: dict[int, list[ir.MemRefType]]) -> None:
    segments = list(ir.DenseI32ArrayAttr(launch.attributes[_SEGMENTS]))
    first = sum(segments[:ARGUMENTS])
    attributes = {name: launch.attributes[name] for name in launch.attributes}
    given = list(launch.operands)
    with launch.location, ir.InsertionPoint(launch):
        behind = given[first:]
        memory = _with_parts(behind, large, lambda n: _windows(behind[n], large[n]))
        segments[ARGUMENTS] = len(memory)
        attributes[_SEGMENTS] = ir.DenseI32ArrayAttr.get(segments)
        ir.Operation.create(LAUNCH, operands=[*given[:first], *memory], attributes=attributes)


def _windows(memory: ir.Value, kinds: Sequence[ir.MemRefType]) -> list[ir.Value]:
    i64, start, found = ir.IntegerType.get_signless(64), 0, []
    for kind in kinds:
        found.append(emit(_CAST, [memory], kind, **{WINDOW: ir.IntegerAttr.get(i64, start)}))
        start += _element_bytes(kind) * kind.shape[0]
    return found
