# SPDX-License-Identifier: MIT OR Apache-2.0
"""Which values of a function are known as soon as the model is loaded."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.fusion.block_graph import VIEWS
from xyntra.passes.fusion.functions import weight_positions

CONSTANT = "xyntra.constant"
"""Unit attribute of a kernel's argument that is known at load wherever the kernel is called."""


@dataclass(frozen=True)
class KnownAtLoad:
    """Weights, constants, and what is computed from these alone.

    Attributes:
        values: those found so far.
        returned: what the function returns, looking through views; computed in every call.
    """

    values: set[ir.Value]
    returned: frozenset[ir.Value]

    @classmethod
    def of(cls, function: ir.Operation) -> KnownAtLoad:
        """Start with the parameters of `function`, which has one block."""
        block = function.regions[0].blocks[0]
        values = {block.arguments[position] for position in weight_positions(block)}
        return cls(values, _returned(block))

    def follow(self, op: ir.Operation) -> None:
        """Add the results of `op`, the next operation, if its operands are all known."""
        if op.name not in VIEWS and op.name not in ("func.call", "arith.constant"):
            return
        if self.values.issuperset(op.operands) and self.returned.isdisjoint(op.results):
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
        if not any(known) or (all(known) and self.returned.isdisjoint(results)):
            return
        unit = ir.UnitAttr.get(kernel.context)
        kernel.attributes["arg_attrs"] = ir.ArrayAttr.get(
            [ir.DictAttr.get({CONSTANT: unit} if each else {}, kernel.context) for each in known],
            kernel.context,
        )


def _returned(block: ir.Block) -> frozenset[ir.Value]:
    found = set()
    last = block.operations[len(block.operations) - 1].operation
    for value in last.operands:
        found.add(value)
        while not isinstance(value.owner, ir.Block) and value.owner.name in VIEWS:
            value = value.owner.operands[0]
            found.add(value)
    return frozenset(found)
