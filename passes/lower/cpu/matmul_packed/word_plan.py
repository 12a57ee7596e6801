# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds products whose packed matrix can be read in words of 32 bits, and chooses their tiles."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers
from xyntra.passes.lower.cpu.matmul_packed.packed_bodies import BodyReader
from xyntra.passes.lower.cpu.matmul_packed.packed_plan import WIDTHS, PackedProduct
from xyntra.passes.lower.cpu.rows.filled_reductions import Filled
from xyntra.passes.lower.cpu.schedule.emitter import Choices, require
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import tile_start

__all__ = [
    "FEW_ROWS",
    "MOST_ROWS",
    "WORD",
    "BlockedProduct",
    "WordChoices",
    "WordProduct",
    "check_words",
]

WORD = 4  # bytes
FEW_ROWS = 3  # more load too much of themselves for each vector of words
MOST_ROWS = 8
_MIN_LANES = 4
_MOST_AHEAD = 1 << 20
_AHEAD = 4096  # bytes; a processor does not look beyond a page by itself


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
class BlockedProduct:
    """A product with a matrix whose integers have scales and zero points for blocks of steps.

    Attributes:
        found: the contraction, over bytes.
        zero: value of the body, an integer of 32 bits for each block.
        scale: value of the body, of f32, for each block.
    """

    found: PackedProduct
    zero: ir.Value
    scale: ir.Value

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
    def is_regular(self) -> bool:
        """Tell whether a column's bytes are neighbours, and so are values of its blocks."""
        found = self.found
        if len(found.blocks) > 1:
            return False
        for access in found.nest.inputs:
            steps = 0 if access.is_scalar else access.strides[found.step]
            blocks = [] if access.is_scalar else [access.strides[i] for i in found.blocks]
            if not steps and (access.is_scalar or blocks in ([], [1])):
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

    def chunks(self, lanes: int) -> int:
        """Return how many vectors of words a column has."""
        return -(-self.column_bytes // (WORD * lanes))

    def first_byte(self, chunk: ir.Value, lanes: int) -> ir.Value:
        """Return the byte of a column that a vector of words starts with; the last moves back."""
        return tile_start(chunk, WORD * lanes, self.column_bytes)

    @property
    def tile(self) -> tuple[int, int]:
        """The rows and columns of a tile.

        One row reads column after column, as they lie in memory: that is the order in which it
        comes fastest. More meet two columns with each vector of their own that is loaded.
        """
        rows = min(self.found.rows, FEW_ROWS)
        columns = self.found.nest.loops[self.found.column].extent
        return rows, min(2 if rows > 1 else 1, columns)


@dataclass(frozen=True)
class WordProduct(BlockedProduct):
    """The sum of `row * ((integer - zero) * scale)`.

    Attributes:
        factors: for the integers of a byte, the low one first, what the body takes of the rows.
    """

    factors: tuple[ir.Value, ...]

    @classmethod
    def of(cls, found: PackedProduct) -> WordProduct | None:
        """Return `found` as such a product, or None where it is none."""
        read = BodyReader(found)
        integers = [read.integer(term) for term in found.terms]
        known = [each for each in integers if each is not None]
        if len(known) < len(integers) or len({(each.zero, each.scale) for each in known}) != 1:
            return None
        known.sort(key=lambda each: each.shift)
        if [(each.shift, each.bits) for each in known] not in ([(0, 8)], [(0, 4), (4, 4)]):
            return None
        factors = tuple(each.factor for each in known)
        product = cls(found, known[0].zero, known[0].scale, factors)
        return product if product.is_regular else None

    @property
    def bits(self) -> int:
        """Bits of an integer."""
        return 8 // len(self.factors)

    @property
    def fields(self) -> int:
        """Integers of a word."""
        return 8 * WORD // self.bits


def check_words(place: Filled, product: BlockedProduct, choices: WordChoices) -> None:
    """Check that tiles fit the output, and vectors blocks."""
    vector, tile, nest = choices.vector, choices.tile, product.found.nest
    allowed = f"allowed are words that divide blocks of {product.block_bytes} bytes, or hold some"
    fits = _is_power(vector) and product.fits(vector)
    require(fits, place, "vector", vector, allowed)
    rows = min(product.found.rows, MOST_ROWS)
    columns = min(nest.loops[product.found.column].extent, vector, WIDTHS[0])
    fits = len(tile) == 2 and 0 < tile[0] <= rows and 0 < tile[1] <= columns
    allowed = f"allowed are up to {rows} rows, and a power of two up to {columns}"
    require(fits and _is_power(tile[1]), place, "tile", tile, allowed)
    fits = 0 <= choices.ahead <= _MOST_AHEAD
    require(fits, place, "ahead", choices.ahead, f"allowed are 0 to {_MOST_AHEAD}")


def _is_power(number: int) -> bool:
    return number > 0 and number & (number - 1) == 0
