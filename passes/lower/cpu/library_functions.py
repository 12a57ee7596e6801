# SPDX-License-Identifier: MIT OR Apache-2.0
"""`library-functions`: calls of the C library where MLIR's own expansion is inexact."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from torch_mlir.dialects import func

from xyntra.dialects.mlir import ir
from xyntra.errors import CompileError
from xyntra.passes.analysis.kernel_function import function_name, operations_named
from xyntra.passes.registry import register_pass

_FUNCTIONS = {"math.log1p": "log1p", "math.expm1": "expm1"}


@register_pass
@dataclass(frozen=True)
class LibraryFunctions:
    """Call `log1p` and `expm1` for f32 and f64.

    `convert-math-to-llvm` computes them as log(1 + x) and exp(x) - 1, which loses every digit of
    small arguments.
    """

    name: ClassVar[str] = "library-functions"

    def run(self, module: ir.Operation) -> None:
        """Rewrite what is left of these functions below `module`.

        Raises:
            CompileError: a function of the module itself has a name of the C library.
        """
        declared: set[str] = set()
        for op in operations_named(module, *_FUNCTIONS):
            suffix = {"f64": "", "f32": "f"}.get(str(op.result.type))
            if suffix is None:
                continue
            name = _FUNCTIONS[op.name] + suffix
            with op.context, op.location:
                if name not in declared:
                    _declare(module, name, op.result.type)
                    declared.add(name)
                with ir.InsertionPoint(op):
                    call = func.CallOp([op.result.type], name, list(op.operands))
            op.result.replace_all_uses_with(call.results[0])
            op.erase()


def _declare(module: ir.Operation, name: str, kind: ir.Type) -> None:
    known = [op for op in operations_named(module, "func.func") if function_name(op) == name]
    if any(len(op.regions[0].blocks) for op in known):
        message = f"function '{name}' has the name of a function of the C library"
        raise CompileError("kernel-symbol", message)
    if known:
        return
    with ir.InsertionPoint.at_block_begin(module.regions[0].blocks[0]):
        function = func.FuncOp(name, ir.FunctionType.get([kind], [kind]), visibility="private")
    function.operation.attributes["llvm.readnone"] = ir.UnitAttr.get()
