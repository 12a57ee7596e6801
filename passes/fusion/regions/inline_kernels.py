# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-kernels`: puts the operations of kernels back where they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import functions
from xyntra.passes.registry import register_pass

__all__ = ["InlineKernels"]


@register_pass
@dataclass(frozen=True)
class InlineKernels:
    """Replace calls of the kernels `names` by what these compute, and erase the kernels.

    The opposite of `outline-kernels`: `form-kernels` then makes a region of each operation. This is
    how compiling goes on where no code can be generated for a kernel as a whole.
    """

    name: ClassVar[str] = "inline-kernels"

    names: tuple[str, ...] = ()
    """Kernel functions; none means all."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        kernels = {
            ir.StringAttr(op.attributes["sym_name"]).value: op
            for op in (view.operation for view in module.regions[0].blocks[0].operations)
            if op.name == "func.func"
            and len(op.regions[0].blocks)
            and KernelFacts.of(op) is not None
        }
        chosen = {name: op for name, op in kernels.items() if not self.names or name in self.names}
        calls = [
            view.operation
            for function in functions(module)
            for block in function.regions[0].blocks
            for view in block.operations
            if view.operation.name == "func.call"
        ]
        replaced = [call for call in calls if _callee(call) in chosen]
        for call in replaced:
            _inline(call, chosen[_callee(call)])
        # Last: the bindings may give an operation that is created where an erased one was the
        # wrapper of the erased one.
        for op in (*replaced, *chosen.values()):
            op.erase()


def _callee(call: ir.Operation) -> str:
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


def _inline(call: ir.Operation, kernel: ir.Operation) -> None:
    """Clone what `kernel` holds before `call`, whose results nothing reads afterwards."""
    block = kernel.regions[0].blocks[0]
    *inside, end = [view.operation for view in block.operations]
    values = dict(zip(block.arguments, call.operands, strict=True))
    ip = ir.InsertionPoint(call)
    for op in inside:
        clone = op.clone(ip=ip)
        _give_operands(clone, values)
        values.update(zip(op.results, clone.results, strict=True))
    for result, value in zip(call.results, end.operands, strict=True):
        result.replace_all_uses_with(values[value])


def _give_operands(op: ir.Operation, values: dict[ir.Value, ir.Value]) -> None:
    """Let `op`, and what is nested in it, read what stands for the values of the kernel."""
    for position, operand in enumerate(op.operands):
        if operand in values:
            op.operands[position] = values[operand]
    for region in op.regions:
        for block in region.blocks:
            for view in block.operations:
                _give_operands(view.operation, values)
