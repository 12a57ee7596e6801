# SPDX-License-Identifier: MIT OR Apache-2.0
"""`empty-arguments`: arguments without elements become a byte that nobody touches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import (
    check_buffers,
    entry_block,
    kernel_function,
    set_signature,
)
from xyntra.passes.lower.loops.memrefs import view_of_bytes
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class EmptyArguments:
    """Give memref arguments with a zero extent the type `memref<1xi8>`, seen through a view.

    MLIR's bare-pointer calling convention leaves a function unconverted, without an error, when an
    argument has a zero extent before its last one.
    """

    name: ClassVar[str] = "empty-arguments"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel function of `module`.

        Raises:
            CompileError: the function is not a kernel on buffers.
        """
        function = kernel_function(module)
        check_buffers(function)
        body = entry_block(function)
        with function.location, ir.InsertionPoint.at_block_begin(body):
            byte = ir.MemRefType.get([1], ir.IntegerType.get_signless(8))
            for argument in body.arguments:
                kind = ir.MemRefType(argument.type)
                if 0 in kind.shape:
                    argument.set_type(byte)
                    view = view_of_bytes(argument, kind)
                    argument.replace_all_uses_except(view, view.owner.operation)
        set_signature(function, [])
