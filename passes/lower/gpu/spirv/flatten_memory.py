# SPDX-License-Identifier: MIT OR Apache-2.0
"""`flatten-memory`: every buffer has one dimension, and no views."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import ClassVar

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    entry_block,
    function_name,
    operations_named,
)
from xyntra.passes.analysis.views import MEMREF_VIEWS
from xyntra.passes.lower.loops.flat_accesses import ACCESSES
from xyntra.passes.lower.loops.memrefs import flattened, root
from xyntra.passes.registry import register_pass

_FUNCTION, _LAUNCH = "gpu.func", "gpu.launch_func"


@register_pass
@dataclass(frozen=True)
class FlattenMemory:
    """Let every `gpu.func` take its buffers as flat arrays, and compute the places of elements.

    SPIR-V has no pointers into a buffer that could be cast to another shape.
    """

    name: ClassVar[str] = "flatten-memory"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the functions and launches of `module`.

        Raises:
            CompileError: memory is touched by an operation that is not known, or has a layout or
                shape that is not.
        """
        functions = operations_named(module, _FUNCTION)
        for function in functions:
            _check(function)
        for function in functions:
            _flatten(function)
        for launch in operations_named(module, _LAUNCH):
            _pass_flat(launch)


def _check(function: ir.Operation) -> None:
    problems: list[str] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        memory = [each for each in op.operands if isinstance(each.type, ir.MemRefType)]
        if memory and op.name not in ACCESSES and op.name not in MEMREF_VIEWS:
            problems.append(f"{op.name} touches memory")
        if memory and op.name == "memref.view":
            problems.append("a buffer has elements of several types")
        unknown = [each.type for each in memory if not _is_static(ir.MemRefType(each.type))]
        problems.extend(f"the layout of {each} is not known" for each in unknown)
        return ir.WalkResult.ADVANCE

    function.walk(visit)
    if problems:
        raise _refusal(function, problems[0])


def _refusal(function: ir.Operation, message: str) -> CompileError:
    place = f"function '{function_name(function)}'"
    return CompileError("gpu-memory", f"{message}, and it cannot be flat", place=place)


def _is_static(kind: ir.MemRefType) -> bool:
    if not kind.has_static_shape:
        return False
    steps, first = kind.get_strides_and_offset()
    return bool(min([first, *steps]) >= 0)


def _flatten(function: ir.Operation) -> None:
    """Replace accesses through views, then drop these, and the shapes of arguments."""
    accesses = operations_named(function, *ACCESSES)
    for op in accesses:
        first = ACCESSES[op.name]
        memory, *indices = list(op.operands)[first:]
        with op.location, ir.InsertionPoint(op):
            place = _place(ir.MemRefType(memory.type), indices)
            operands = [*list(op.operands)[:first], root(memory), place]
            attributes = {name: op.attributes[name] for name in op.attributes}
            kinds = [each.type for each in op.results]
            new = ir.Operation.create(
                op.name, results=kinds, operands=operands, attributes=attributes
            )
        for old, result in zip(op.results, new.results, strict=True):
            old.replace_all_uses_with(result)
    views = operations_named(function, *MEMREF_VIEWS)
    for op in [*accesses, *reversed(views)]:
        op.erase()
    with function.location:
        _flatten_arguments(function)


def _flatten_arguments(function: ir.Operation) -> None:
    arguments = entry_block(function).arguments
    for each in arguments:
        if isinstance(each.type, ir.MemRefType):
            each.set_type(_flat(ir.MemRefType(each.type)))
    signature = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    inputs = [each.type for each in arguments][: len(signature.inputs)]
    kind = ir.FunctionType.get(inputs, signature.results)
    function.attributes["function_type"] = ir.TypeAttr.get(kind)


def _place(kind: ir.MemRefType, indices: Sequence[ir.Value]) -> ir.Value:
    """Return the number of an element in the buffer that a memref is a view of."""
    steps, first = kind.get_strides_and_offset()
    total = _index(first) if first or not indices else None
    for index, step in zip(indices, steps, strict=True):
        part = index if step == 1 else arith.muli(index, _index(step))
        total = part if total is None else arith.addi(total, part)
    return _index(0) if total is None else total


def _flat(kind: ir.MemRefType) -> ir.MemRefType:
    steps, first = kind.get_strides_and_offset()
    if not prod(kind.shape):
        return ir.MemRefType.get([0], kind.element_type, memory_space=kind.memory_space)
    span = 1 + first + sum((size - 1) * step for size, step in zip(kind.shape, steps, strict=True))
    return ir.MemRefType.get([span], kind.element_type, memory_space=kind.memory_space)


def _pass_flat(launch: ir.Operation) -> None:
    """Let a launch give its function flat views of what it gave."""
    for number, operand in enumerate(launch.operands):
        if not isinstance(operand.type, ir.MemRefType):
            continue
        with launch.location, ir.InsertionPoint(launch):
            kind = ir.MemRefType(operand.type)
            if kind != _flat(kind):
                launch.operands[number] = flattened(operand)


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
