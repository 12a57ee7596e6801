# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the values that regions of operations read from outside."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cmp_to_key

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.walking import nested_operations

__all__ = ["Captures", "Use"]


@dataclass(slots=True)
class Use:
    """A use of `value` in a region.

    Attributes:
        value: defined outside of the region.
        member: the operation of the region's block that uses it, or in which it is used.
        holder: the operation, `member` or one in it, that has it as operand `position`.
    """

    value: ir.Value
    member: ir.Operation
    holder: ir.Operation
    position: int


@dataclass
class Captures:
    """Uses of a function's values in the regions of its operations, by operation.

    They are found from the values: a region has few of them, and many operations.
    """

    function: ir.Operation
    _uses: dict[ir.Operation, list[Use]] = field(default_factory=dict)

    def follow(self, values: Sequence[ir.Value]) -> None:
        """Note where regions use `values`, which the function's block or operations of it define.

        Values must be given before what `of` returns for the regions that use them is asked for.
        """
        for value in values:
            for use in value.uses:
                self._note(value, use.owner.operation, use.operand_number)

    def _note(self, value: ir.Value, holder: ir.Operation, position: int) -> None:
        inner, member, around = None, holder, holder.parent.operation
        while around != self.function:
            inner, member, around = member, around, around.parent.operation
        if inner is not None:
            self._uses.setdefault(member, []).append(Use(value, inner, holder, position))

    def of(self, op: ir.Operation) -> list[Use]:
        """The uses in the only block of `op`, in the order of the IR."""
        return sorted(self._uses.pop(op, []), key=cmp_to_key(_order))


def _order(use: Use, other: Use) -> int:
    """Tell which of two uses in a block comes first: the first is below zero, the second above."""
    if use.member != other.member:
        return -1 if use.member.is_before_in_block(other.member) else 1
    return _depth_first(use) - _depth_first(other) or use.position - other.position


def _depth_first(use: Use) -> int:
    """The number of the holder among the operations in the member, behind the member itself."""
    if use.holder == use.member:
        return 0
    return 1 + list(nested_operations(use.member)).index(use.holder)
