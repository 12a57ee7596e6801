# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the values of a function that are known as soon as the model is loaded."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.views import RESHAPES

CONSTANT = "xyntra.constant"
"""Unit attribute of a kernel's argument that is known at load wherever the kernel is called."""


@dataclass(frozen=True)
class KnownAtLoad:
    """Weights, constants, and what is computed from these alone.

    What is computed in one operation with something that the function returns, looking through
    views, is computed in every call, and so is not known.

    Attributes:
        values: those found so far.
    """

    values: set[ir.Value]

    @classmethod
    def of(cls, function: ir.Operation) -> KnownAtLoad:
        """Start with the parameters of `function`, which has one block."""
        block = function.regions[0].blocks[0]
        return cls({block.arguments[position] for position in weight_positions(block)})

    def follow(self, op: ir.Operation) -> None:
        """Add the results of `op`, the next operation, if its operands are all known."""
        if op.name not in RESHAPES and op.name not in ("func.call", "arith.constant"):
            return
        if self.values.issuperset(op.operands) and not _are_returned(op.results):
            self.values.update(op.results)

    def mark(
        self, kernel: ir.Operation, operands: Sequence[ir.Value], results: Sequence[ir.Value]
    ) -> None:
        """Mark the arguments of `kernel` that are known, unless the call itself happens at load.

        Args:
            kernel: the function that is called.
            operands: what the call gives it.
            results: what the call returns.
        """
        known = [value in self.values for value in operands]
        if not any(known) or (all(known) and not _are_returned(results)):
            return
        unit = ir.UnitAttr.get(kernel.context)
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get({CONSTANT: unit} if each else {}, kernel.context) for each in known],
            kernel.context,
        )


def _are_returned(values: Iterable[ir.Value]) -> bool:
    """Tell whether a function returns one of `values`, or a view of one."""
    for value in values:
        for use in value.uses:
            reader = use.owner.operation
            if reader.name == "func.return":
                return True
            if reader.name in RESHAPES and _are_returned(reader.results):
                return True
    return False
