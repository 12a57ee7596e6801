# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inplace-results`: in-place results reach their argument's buffer, whatever was decided."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import func

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import (
    entry_block,
    function_name,
    inplace_pairs,
    kernel_function,
    set_signature,
    terminator,
)
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class InplaceResults:
    """Drop the results of a bufferized kernel.

    What bufferization put elsewhere than in its argument's buffer is copied there at the end.
    """

    name: ClassVar[str] = "inplace-results"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module`.

        Raises:
            CompileError: `xyntra.inplace` does not name one buffer for each result.
        """
        function = kernel_function(module)
        _check(function)
        body = entry_block(function)
        targets = [body.arguments[number] for number in inplace_pairs(function).values()]
        returning = terminator(body)
        with function.location, ir.InsertionPoint(returning):
            _move(list(returning.operands), targets)
            func.ReturnOp([])
        returning.erase()
        set_signature(function, [])


def _check(function: ir.Operation) -> None:
    arguments = list(entry_block(function).arguments)
    sources = [value.type for value in terminator(entry_block(function)).operands]
    numbers = inplace_pairs(function).values()
    targets = [arguments[number].type for number in numbers if number < len(arguments)]
    if len(sources) == len(targets) and all(map(_can_copy, sources, targets)):
        return
    message = "every result of a bufferized kernel has an argument of its shape in xyntra.inplace"
    raise CompileError("kernel-inplace", message, place=f"kernel '{function_name(function)}'")


def _can_copy(source: ir.Type, target: ir.Type) -> bool:
    if not isinstance(source, ir.MemRefType) or not isinstance(target, ir.MemRefType):
        return False
    return source.shape == target.shape and bool(source.element_type == target.element_type)


def _move(sources: list[ir.Value], targets: list[ir.Value]) -> None:
    moves = [(a, b) for a, b in zip(sources, targets, strict=True) if a != b]
    # A source may be the buffer that another move overwrites, so all are read first.
    staged = [(_copy_of(source), target) for source, target in moves]
    for source, target in staged:
        _copy(source, target)


def _copy_of(source: ir.Value) -> ir.Value:
    memref = ir.MemRefType(source.type)
    copy = allocate(memref.shape, memref.element_type)
    _copy(source, copy)
    return copy


def _copy(source: ir.Value, target: ir.Value) -> None:
    ir.Operation.create("memref.copy", operands=[source, target])
