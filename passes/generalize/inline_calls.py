# SPDX-License-Identifier: MIT OR Apache-2.0
"""`inline-calls`: puts the bodies of functions where they are called."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.functions import functions
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.generalize.cloning import Cloner
from xyntra.passes.registry import register_pass

__all__ = ["InlineCalls"]


@register_pass
@dataclass(frozen=True)
class InlineCalls:
    """Inline calls of functions that are no kernels, and erase private functions without callers.

    Upstream's pass of that purpose inlines kernels as well, and leaves calls of functions with
    operations of the dialect xyntra alone.
    """

    name: ClassVar[str] = "inline-calls"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`.

        Raises:
            UnsupportedError: a function calls itself, a called one has several blocks, or the
                bodies are too many operations.
        """
        found = {_symbol(op): op for op in functions(module)}
        inliner = _Inliner(found)
        for name in found:
            inliner.visit(name)
        unused = [name for name in inliner.inlined if _is_private(found[name])]
        for name in unused:
            found.pop(name).erase()


class _Inliner:
    def __init__(self, found: dict[str, ir.Operation]) -> None:
        self.functions = found
        self.inlined: dict[str, None] = {}
        self.cloner = Cloner()
        self.done: set[str] = set()
        self.open: list[str] = []

    def visit(self, name: str) -> None:
        """Inline the calls of function `name`, those of the functions that it calls first."""
        if name in self.open:
            chain = " -> ".join([*self.open[self.open.index(name) :], name])
            raise UnsupportedError(
                "mlir-recursion",
                f"function '{name}' calls itself",
                place=f"function '{name}'",
                cause=chain,
                hint="write it as a loop whose bounds are constants",
            )
        if name in self.done:
            return
        self.open.append(name)
        calls = [op for op in nested_operations(self.functions[name]) if self._callee(op)]
        while calls:
            call = calls.pop(0)
            self.visit(self._callee(call))
            self._inline(call, self._callee(call))
            call.erase()
        self.open.pop()
        self.done.add(name)

    def _callee(self, op: ir.Operation) -> str:
        """The name of the function that `op` calls; empty for kernels and other operations."""
        if op.name != "func.call":
            return ""
        name = str(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
        return name if name in self.functions else ""

    def _inline(self, call: ir.Operation, callee: str) -> None:
        blocks = list(self.functions[callee].regions[0].blocks)
        if len(blocks) > 1:
            raise UnsupportedError(
                "control-flow-unsupported",
                f"a call of function '{callee}', which has branches, is not supported",
                place=str(call.location),
                hint="write branches as scf.if",
            )
        ip = ir.InsertionPoint(call)
        results = self.cloner.inline(blocks[0], list(call.operands), ip)
        for old, new in zip(call.results, results, strict=True):
            old.replace_all_uses_with(new)
        self.inlined[callee] = None


def _is_private(function: ir.Operation) -> bool:
    given = function.attributes.get("sym_visibility")
    return given is not None and ir.StringAttr(given).value == "private"


def _symbol(op: ir.Operation) -> str:
    return str(ir.StringAttr(op.attributes["sym_name"]).value)
