# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds products of rows of 8 bits with a matrix of 4 bits, and chooses their tiles."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul_packed.packed_bodies import (
    BodyReader,
    both_orders,
    integer_of,
    operands_of,
)
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import PackedProduct
from xyntra.passes.lower.cpu.matmul_packed.word_plan import BlockedProduct, WordChoices
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.memrefs import root

__all__ = ["RoundedChoices", "RoundedProduct"]

_MOST_HEIGHT = 4


@dataclass(frozen=True)
class RoundedChoices(WordChoices):
    """The choices of the emitter.

    Attributes:
        dot: how products of neighbours are added, one of `dot_products.KINDS`.
    """

    dot: str = "none"


@dataclass(frozen=True)
class RoundedProduct(BlockedProduct):
    """The sum of `(row * (integer - zero)) * (scale * row_scale)` over two integers of a byte.

    Attributes:
        rows: for the integers of a byte, the low one first, what they are multiplied with.
        row_scales: scales of these for each block.
    """

    rows: tuple[BufferOperand, BufferOperand]
    row_scales: BufferOperand

    @classmethod
    def of(cls, found: PackedProduct) -> RoundedProduct | None:
        """Return `found` as such a product, or None where it is none."""
        accesses = dict(zip(found.nest.body.arguments, found.nest.inputs, strict=False))
        read = BodyReader(found)
        for total, factor in _products(found):
            terms = _terms(read, total)
            for scale, row_scale in both_orders(factor, "arith.mulf"):
                scales = accesses.get(row_scale)
                if terms is None or scales is None or scales.is_scalar or found.is_weight(scales):
                    continue
                if not read.is_of_blocks(scale):
                    continue
                low, high = (accesses[each] for each in terms.factors)
                product = cls(found, terms.zero, scale, (low, high), scales)
                return product if product.is_regular and product._has_pairs else None
        return None

    @property
    def _has_pairs(self) -> bool:
        """Tell whether the rows of a byte are neighbours, and those of bytes follow each other."""
        low, high = self.rows
        is_pair = root(low.value) == root(high.value) and high.start == low.start + 1
        is_pair = is_pair and low.strides == high.strides and low.strides[self.found.step] == 2
        return is_pair and not self.row_scales.strides[self.found.step]

    @property
    def known_zero(self) -> int | None:
        """The zero point, where all blocks have the same; None where each has its own."""
        return integer_of(self.zero)

    @property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of a tile: for one row, columns in the order of memory."""
        rows = min(self.found.rows, _MOST_HEIGHT)
        columns = self.found.nest.loops[self.found.column].extent
        return rows, min(2 if rows > 1 else 1, columns)


@dataclass(frozen=True)
class _Terms:
    factors: tuple[ir.Value, ir.Value]
    zero: ir.Value


def _products(found: PackedProduct) -> list[tuple[ir.Value, ir.Value]]:
    """Return the sum of integers that is added, and what it is multiplied with."""
    if len(found.terms) != 1:
        return []
    pairs = both_orders(found.terms[0], "arith.mulf")
    totals = [(operands_of(first, "arith.sitofp"), second) for first, second in pairs]
    return [(total[0], factor) for total, factor in totals if total]


def _terms(read: BodyReader, total: ir.Value) -> _Terms | None:
    """Return what the integers of a byte are multiplied with, and their zero point."""
    found: dict[int, tuple[ir.Value, ir.Value]] = {}
    for term in operands_of(total, "arith.addi"):
        for factor, difference in both_orders(term, "arith.muli"):
            (row,) = operands_of(factor, "arith.extsi") or [None]
            known = read.difference_of_integers(difference)
            if row in read.rows and known is not None and known[1] == 4:
                found[known[0]] = row, known[2]
    if sorted(found) != [0, 4] or found[0][1] != found[4][1]:
        return None
    return _Terms((found[0][0], found[4][0]), found[0][1])
