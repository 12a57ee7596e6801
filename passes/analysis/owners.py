# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the operation that defines a value, and the operations that read it."""

from __future__ import annotations

from xyntra.dialects.mlir import ir

__all__ = [
    "constant_attribute",
    "constant_number",
    "member_of",
    "only_reader",
    "owner_of",
    "sources_of",
]


def owner_of(value: ir.Value, *names: str) -> ir.Operation | None:
    """Return the operation that made `value`.

    None for a block's argument and, where `names` are given, for operations of other names.
    """
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    return op if not names or op.name in names else None


def constant_attribute(value: ir.Value) -> ir.Attribute | None:
    """Return what an arith.constant holds; None where something else made `value`."""
    op = owner_of(value, "arith.constant")
    return None if op is None else op.attributes["value"]


def constant_number(value: ir.Value) -> float | int | None:
    """Return the number that a scalar always is, an int for integers; None for other values."""
    attribute = constant_attribute(value)
    return attribute.value if isinstance(attribute, ir.FloatAttr | ir.IntegerAttr) else None


def only_reader(value: ir.Value) -> ir.Operation | None:
    """Return the operation that alone reads `value`, once; None for more uses, or none."""
    uses = list(value.uses)
    return uses[0].owner.operation if len(uses) == 1 else None


def member_of(block: ir.Block, op: ir.Operation) -> ir.Operation:
    """Return the operation of `block` that holds `op`, or is it."""
    while op.block != block:
        op = op.parent.operation
    return op


def sources_of(value: ir.Value, block: ir.Block | None = None) -> set[ir.Value]:
    """Return `value` and all that it comes from.

    Args:
        value: of an operation, or a block's argument.
        block: operations of other blocks are not looked into, where given.
    """
    found, waiting = {value}, [value]
    while waiting:
        op = owner_of(waiting.pop())
        if op is not None and (block is None or op.block == block):
            new = [each for each in op.operands if each not in found]
            found.update(new)
            waiting += new
    return found
