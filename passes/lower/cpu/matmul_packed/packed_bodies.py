# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the bodies of products whose integers of 4 or 8 bits have scales and zero points."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedProduct
from xyntra.passes.lower.loops.linear_nest import BufferOperand

__all__ = ["BodyReader", "PackedInteger", "both_orders", "integer_of", "operands_of"]

_MOST_ZERO = 255  # which, beside an integer of 4 bits at the end of a mantissa, is exact


@dataclass(frozen=True)
class PackedInteger:
    """An integer of a byte in a term of the sum: `factor * ((byte >> shift) - zero) * scale`."""

    shift: int
    bits: int
    factor: ir.Value
    zero: ir.Value
    scale: ir.Value


class BodyReader:
    """Reads the body of a product."""

    def __init__(self, found: PackedProduct) -> None:
        self.found = found
        arguments = list(zip(found.nest.body.arguments, found.nest.inputs, strict=False))
        moving = {argument for argument, each in arguments if self._moves(each)}
        self.bytes = {
            argument
            for argument, access in arguments
            if argument in moving and found.is_weight(access)
        }
        self.rows = moving - self.bytes
        self.known = {argument for argument, _ in arguments} - moving

    def _moves(self, access: BufferOperand) -> bool:
        return not access.is_scalar and bool(access.strides[self.found.step])

    def integer(self, term: ir.Value) -> PackedInteger | None:
        """Return what a term of the sum is, or None where it is something else."""
        for factor, weight in both_orders(term, "arith.mulf"):
            if not self._is_of_rows(factor):
                continue
            for difference, scale in both_orders(weight, "arith.mulf"):
                found = self._difference(difference)
                if found is not None and self.is_of_blocks(scale):
                    return PackedInteger(*found[:2], factor, found[2], scale)
        return None

    def _difference(self, value: ir.Value) -> tuple[int, int, ir.Value] | None:
        """Return shift, bits and zero point of `value`."""
        (integer,) = operands_of(value, "arith.sitofp") or [None]
        return None if integer is None else self.difference_of_integers(integer)

    def difference_of_integers(self, value: ir.Value) -> tuple[int, int, ir.Value] | None:
        """Return shift, bits and zero point of `value`, an integer of a byte less a zero point."""
        operands = operands_of(value, "arith.subi")
        if not operands:
            return None
        (field,) = operands_of(operands[0], "arith.extui") or [None]
        if field is None or not self._is_small(operands[1]):
            return None
        if field in self.bytes:
            return 0, 8, operands[1]
        for name, number, shift in (("arith.andi", 15, 0), ("arith.shrui", 4, 4)):
            for byte, other in both_orders(field, name)[: 2 if name == "arith.andi" else 1]:
                if byte in self.bytes and integer_of(other) == number:
                    return shift, 4, operands[1]
        return None

    def _is_of_rows(self, value: ir.Value) -> bool:
        (narrow,) = operands_of(value, "arith.extf") or [value]
        return narrow in self.rows

    def _is_small(self, zero: ir.Value) -> bool:
        number = integer_of(zero)
        if number is not None:
            return 0 <= number <= _MOST_ZERO
        (narrow,) = operands_of(zero, "arith.extui") or [None]
        return narrow is not None and str(narrow.type) == "i8" and self.is_of_blocks(narrow)

    def is_of_blocks(self, value: ir.Value) -> bool:
        """Tell whether `value` is computed from what all steps of a block share."""
        if value in self.known or integer_of(value) is not None:
            return True
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != self.found.nest.body:
            return False
        return all(self.is_of_blocks(each) for each in value.owner.operation.operands)


def operands_of(value: ir.Value | None, name: str) -> list[ir.Value]:
    """Return the operands of the operation `name` that makes `value`; none if another one does."""
    if value is None or isinstance(value.owner, ir.Block):
        return []
    op = value.owner.operation
    return list(op.operands) if op.name == name else []


def both_orders(value: ir.Value, name: str) -> list[tuple[ir.Value, ir.Value]]:
    """Return the operands of the operation `name` that makes `value`, in either order."""
    operands = operands_of(value, name)
    return [(operands[0], operands[1]), (operands[1], operands[0])] if operands else []


def integer_of(value: ir.Value) -> int | None:
    """Return the integer that `value` is a constant of, or None."""
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    return int(attribute.value)
