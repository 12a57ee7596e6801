# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makes variants of kernels that write results into the buffers of arguments."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.passes.schedule.pointwise_pairs import Pairs

__all__ = ["INPLACE", "Variants", "callee_of", "kernels_of"]

INPLACE = "xyntra.inplace"
"""Attribute of kernel functions: [result, argument] pairs that share a buffer."""


def kernels_of(module: ir.Operation, *, overwriting: bool = False) -> dict[str, ir.Operation]:
    """Kernel functions by name: those that overwrite no argument yet, or those that do."""
    operations = [view.operation for view in module.regions[0].blocks[0].operations]
    return {
        ir.StringAttr(op.attributes["sym_name"]).value: op
        for op in operations
        if op.name == "func.func"
        and KernelFacts.of(op) is not None
        and (INPLACE in op.attributes) == overwriting
    }


def callee_of(call: ir.Operation) -> str:
    """The name of the function that is called."""
    return str(ir.FlatSymbolRefAttr(call.attributes["callee"]).value)


class Variants:
    """Copies of kernels, one for each set of pairs that its calls use."""

    def __init__(self, kernels: dict[str, ir.Operation]) -> None:
        self.kernels = kernels
        self.made: dict[tuple[str, Pairs], str] = {}

    def use(self, call: ir.Operation, name: str, pairs: Pairs) -> None:
        """Let `call` call the variant of kernel `name` that reuses `pairs`."""
        if (name, pairs) not in self.made:
            self.made[name, pairs] = self._make(name, pairs)
        with call.context:
            call.attributes["callee"] = ir.FlatSymbolRefAttr.get(self.made[name, pairs])

    def _make(self, name: str, pairs: Pairs) -> str:
        kernel = self.kernels[name]
        variant = f"{name}_inplace_" + "_".join(f"{r}{a}" for r, a in pairs)
        clone = kernel.clone(ip=ir.InsertionPoint(kernel))
        with kernel.location:
            clone.attributes["sym_name"] = ir.StringAttr.get(variant)
            clone.attributes[INPLACE] = _pairs_attribute(pairs)
        return variant

    def erase_unused(self, called: set[str]) -> None:
        """Erase the originals of variants that are not among the kernels `called`."""
        for name in {name for name, _ in self.made} - called:
            self.kernels[name].erase()


def _pairs_attribute(pairs: Sequence[tuple[int, int]]) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.ArrayAttr.get(
        [ir.ArrayAttr.get([ir.IntegerAttr.get(i64, item) for item in pair]) for pair in pairs]
    )
