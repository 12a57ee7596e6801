# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds products whose packed matrix can be read in words of 32 bits, and chooses their tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedProduct
from xyntra.passes.lower.cpu.schedule.emitter import Choices
from xyntra.passes.lower.loops.linear_nest import BufferOperand

__all__ = ["FEW_ROWS", "MOST_ROWS", "WORD", "WordChoices", "WordProduct"]

WORD = 4  # bytes
FEW_ROWS = 2  # more load too much of themselves for each vector of words
MOST_ROWS = 8
_MIN_LANES = 4
_AHEAD = 4096  # bytes; a processor does not look beyond a page by itself
_MOST_ZERO = 255  # which, beside an integer of 4 bits at the end of a mantissa, is exact


@dataclass(frozen=True)
class WordChoices(Choices):
    """The choices of the emitter.

    Attributes:
        vector: words of a vector.
        tile: rows and columns of a tile; the latter are a power of two.
        ahead: how many bytes ahead of what is read the matrix is asked for; 0 for none.
    """

    vector: int = 0
    tile: tuple[int, ...] = ()
    ahead: int = _AHEAD


@dataclass(frozen=True)
class WordProduct:
    """Such a product: the sum of `row * ((integer - zero) * scale)`.

    Attributes:
        found: the contraction, over bytes.
        factors: for the integers of a byte, the low one first, what the body takes of the rows.
        zero: value of the body, an integer of 32 bits for each block.
        scale: value of the body, of f32, for each block.
    """

    found: PackedProduct
    factors: tuple[ir.Value, ...]
    zero: ir.Value
    scale: ir.Value

    @classmethod
    def of(cls, found: PackedProduct) -> WordProduct | None:
        """Return `found` as such a product, or None where it is none."""
        read = _BodyReader(found)
        integers = [read.integer(term) for term in found.terms]
        known = [each for each in integers if each is not None]
        if len(known) < len(integers) or len({(each.zero, each.scale) for each in known}) != 1:
            return None
        known.sort(key=lambda each: each.shift)
        if [(each.shift, each.bits) for each in known] not in ([(0, 8)], [(0, 4), (4, 4)]):
            return None
        factors = tuple(each.factor for each in known)
        product = cls(found, factors, known[0].zero, known[0].scale)
        return product if product._is_regular else None

    @property
    def bits(self) -> int:
        """Bits of an integer."""
        return 8 // len(self.factors)

    @property
    def fields(self) -> int:
        """Integers of a word."""
        return 8 * WORD // self.bits

    @property
    def block_bytes(self) -> int:
        """Bytes of a block."""
        return self.found.nest.loops[self.found.step].extent

    @property
    def column_bytes(self) -> int:
        """Bytes of a column of the matrix."""
        return prod(self.found.nest.loops[number].extent for number in self.found.nest.reductions)

    @property
    def packed(self) -> BufferOperand:
        """The matrix."""
        return next(each for each in self.found.nest.inputs if self._is_packed(each))

    def _is_packed(self, access: BufferOperand) -> bool:
        return self.found.is_weight(access) and bool(access.strides[self.found.step])

    @property
    def _is_regular(self) -> bool:
        """Tell whether a column's bytes are neighbours, and so are values of its blocks."""
        found = self.found
        if len(found.blocks) > 1:
            return False
        for access in found.nest.inputs:
            steps, blocks = access.strides[found.step], [access.strides[i] for i in found.blocks]
            if access.is_scalar or (found.is_weight(access) and not steps and blocks in ([], [1])):
                continue
            if not steps or any(each != steps * self.block_bytes for each in blocks):
                return False
        return True

    def lanes(self, registers: Registers) -> list[int]:
        """Return how many words a vector may have, most first."""
        sizes = [registers.lanes >> i for i in range(registers.lanes.bit_length())]
        return [size for size in sizes if size >= _MIN_LANES and self.fits(size)]

    def fits(self, lanes: int) -> bool:
        """Tell whether vectors of so many words are parts of blocks, or made of whole ones."""
        size, block = lanes * WORD, self.block_bytes
        is_whole = size % block == 0 and block % WORD == 0
        return (is_whole or block % size == 0) and size <= self.column_bytes

    @property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of a tile.

        One row reads column after column, as they lie in memory: that is the order in which it
        comes fastest. Two rows meet two columns with each vector of their own that is loaded.
        """
        rows = min(self.found.rows, FEW_ROWS)
        columns = self.found.nest.loops[self.found.column].extent
        return rows, min(rows, columns)


@dataclass(frozen=True)
class _Integer:
    """An integer of a byte in a term of the sum: `factor * ((byte >> shift) - zero) * scale`."""

    shift: int
    bits: int
    factor: ir.Value
    zero: ir.Value
    scale: ir.Value


class _BodyReader:
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

    def integer(self, term: ir.Value) -> _Integer | None:
        """Return what a term of the sum is, or None where it is something else."""
        for factor, weight in _both_orders(term, "arith.mulf"):
            if not self._is_of_rows(factor):
                continue
            for difference, scale in _both_orders(weight, "arith.mulf"):
                found = self._difference(difference)
                if found is not None and self._is_of_blocks(scale):
                    return _Integer(*found[:2], factor, found[2], scale)
        return None

    def _difference(self, value: ir.Value) -> tuple[int, int, ir.Value] | None:
        """Return shift, bits and zero point of `value`."""
        (integer,) = _operands(value, "arith.sitofp") or [None]
        operands = _operands(integer, "arith.subi")
        if not operands:
            return None
        (field,) = _operands(operands[0], "arith.extui") or [None]
        if field is None or not self._is_small(operands[1]):
            return None
        if field in self.bytes:
            return 0, 8, operands[1]
        for name, number, shift in (("arith.andi", 15, 0), ("arith.shrui", 4, 4)):
            for byte, other in _both_orders(field, name)[: 2 if name == "arith.andi" else 1]:
                if byte in self.bytes and _integer_of(other) == number:
                    return shift, 4, operands[1]
        return None

    def _is_of_rows(self, value: ir.Value) -> bool:
        (narrow,) = _operands(value, "arith.extf") or [value]
        return narrow in self.rows

    def _is_small(self, zero: ir.Value) -> bool:
        number = _integer_of(zero)
        if number is not None:
            return 0 <= number <= _MOST_ZERO
        (narrow,) = _operands(zero, "arith.extui") or [None]
        return narrow is not None and str(narrow.type) == "i8" and self._is_of_blocks(narrow)

    def _is_of_blocks(self, value: ir.Value) -> bool:
        """Tell whether `value` is computed from what all steps of a block share."""
        if value in self.known or _integer_of(value) is not None:
            return True
        if isinstance(value.owner, ir.Block) or value.owner.operation.block != self.found.nest.body:
            return False
        return all(self._is_of_blocks(each) for each in value.owner.operation.operands)


def _operands(value: ir.Value | None, name: str) -> list[ir.Value]:
    """Return the operands of the operation `name` that makes `value`; none if another one does."""
    if value is None or isinstance(value.owner, ir.Block):
        return []
    op = value.owner.operation
    return list(op.operands) if op.name == name else []


def _both_orders(value: ir.Value, name: str) -> list[tuple[ir.Value, ir.Value]]:
    operands = _operands(value, name)
    return [(operands[0], operands[1]), (operands[1], operands[0])] if operands else []


def _integer_of(value: ir.Value) -> int | None:
    if isinstance(value.owner, ir.Block) or value.owner.operation.name != "arith.constant":
        return None
    attribute = value.owner.operation.attributes["value"]
    if not isinstance(attribute, ir.IntegerAttr):
        return None
    return int(attribute.value)
