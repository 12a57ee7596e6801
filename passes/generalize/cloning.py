# SPDX-License-Identifier: MIT OR Apache-2.0
"""Inlines the operations of a body at the place where it is called."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.walking import nested_operations

__all__ = ["MOST_OPERATIONS", "Cloner"]

MOST_OPERATIONS = 200_000
"""Copies of operations that loops and functions may expand to, as for ONNX models."""


@dataclass
class Cloner:
    """Copies operations; `left` is how many more it may."""

    left: int = MOST_OPERATIONS

    def clone(
        self,
        operations: Iterable[ir.Operation],
        values: dict[ir.Value, ir.Value],
        ip: ir.InsertionPoint,
    ) -> None:
        """Copy `operations` to `ip`.

        Args:
            operations: in order.
            values: what the copies read in place of values; results are added to it.
            ip: where the copies go.

        Raises:
            UnsupportedError: there have been too many.
        """
        for op in operations:
            copy = op.clone(ip=ip).operation
            for holder in (copy, *nested_operations(copy)):
                self.left -= 1
                for position, operand in enumerate(holder.operands):
                    if operand in values:
                        holder.operands[position] = values[operand]
            values.update(zip(op.results, copy.results, strict=True))
            if self.left < 0:
                raise UnsupportedError(
                    "mlir-too-many-operations",
                    f"loops and calls expand to more than {MOST_OPERATIONS:,} operations",
                    hint="give loops fewer iterations: they are unrolled",
                )

    def inline(
        self, block: ir.Block, arguments: Sequence[ir.Value], ip: ir.InsertionPoint
    ) -> list[ir.Value]:
        """Copy the body `block` to `ip`, with `arguments` for its own; returns what it gives."""
        values = dict(zip(block.arguments, arguments, strict=True))
        *inside, last = [view.operation for view in block.operations]
        self.clone(inside, values, ip)
        return [values.get(value, value) for value in last.operands]
