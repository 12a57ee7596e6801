# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds products with a matrix of bytes that bodies dequantize, and chooses their tiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.lower.cpu.matmul.tile_plan import Registers
from xyntra.passes.lower.cpu.rows.vector_rows import combiner
from xyntra.passes.lower.cpu.schedule.emitter import Choices
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.vector_body import is_vectorizable

__all__ = ["MIN_LANES", "TILE_ROWS", "WIDTHS", "PackedChoices", "PackedProduct"]

TILE_ROWS = 6
WIDTHS = (4, 2, 1)
MIN_LANES = 4
_FEW_ROWS = 8  # for which dequantizing once for each tile costs less than a copy
_BLOCK_BYTES = 512 << 10  # of columns that are dequantized together
_MOST_BLOCK = 64  # columns
_MIN_BYTES = 16 << 10  # of a smaller matrix, any order of loops does


@dataclass(frozen=True)
class PackedChoices(Choices):
    """The choices of the emitter. Loops are numbered as they are after those that walk on merge.

    Attributes:
        vector: elements of a vector, which divide a block.
        tile: rows and columns of a tile; the latter are a power of two.
        block: columns that are dequantized together, before rows meet them; 0 for none.
    """

    vector: int = 0
    tile: tuple[int, ...] = ()
    block: int = 0


@dataclass(frozen=True)
class PackedProduct:
    """Such a contraction.

    Attributes:
        nest: the loops.
        row: the loop over rows; None for one row.
        column: the loop over the columns of the product.
        blocks: loops that reduce over blocks; empty where there is one.
        step: the loop that reduces over the bytes of a block.
        combining: the operation that adds one more product to the sum.
    """

    nest: LinearNest
    row: int | None
    column: int
    blocks: tuple[int, ...]
    step: int
    combining: ir.Operation

    @classmethod
    def of(cls, nest: LinearNest) -> PackedProduct | None:
        """Return `nest` as such a contraction, or None where it is none."""
        if nest.indices or len(nest.outputs) != 1 or not is_vectorizable(nest.body):
            return None
        combining = combiner(nest, 0)
        if combining is None or combining.name != "arith.addf":
            return None
        packed = next((each for each in nest.inputs if _is_bytes(each, nest.reductions)), None)
        if packed is None:
            return None
        steps = [number for number in nest.reductions if packed.strides[number] == 1]
        parallel = [i for i, each in enumerate(nest.loops) if not each.is_reduction]
        columns = [number for number in parallel if packed.strides[number]]
        if len(steps) != 1 or len(columns) != 1:
            return None
        rows = [i for i in parallel if i != columns[0]]
        if len(rows) > 1:
            return None
        blocks = tuple(number for number in nest.reductions if number != steps[0])
        found = cls(nest, rows[0] if rows else None, columns[0], blocks, steps[0], combining)
        return found if found._is_regular else None

    @property
    def _is_regular(self) -> bool:
        """Tell whether each input moves with columns or with rows, and weights lie along steps."""
        for each in self.nest.inputs:
            if each.is_scalar:
                continue
            if each.strides[self.column] and (
                (self.row is not None and each.strides[self.row])
                or each.strides[self.step] not in (0, 1)
            ):
                return False
        kind = str(self.nest.outputs[0].element_type)
        return kind == "f32" and self.packed_bytes >= _MIN_BYTES

    @property
    def packed_bytes(self) -> int:
        """How many bytes the matrix has."""
        loops = (self.column, *self.nest.reductions)
        return prod(self.nest.loops[number].extent for number in loops)

    @property
    def rows(self) -> int:
        """How many rows there are."""
        return 1 if self.row is None else self.nest.loops[self.row].extent

    def is_weight(self, access: BufferOperand) -> bool:
        """Tell whether an input belongs to the matrix, rather than to the rows."""
        return access.is_scalar or bool(access.strides[self.column])

    @property
    def weight_values(self) -> list[ir.Value]:
        """Return the values of the body that are computed from the matrix alone, for its rest."""
        body = self.nest.body
        own = {
            argument
            for argument, access in zip(body.arguments, self.nest.inputs, strict=False)
            if self.is_weight(access)
        }
        others = {*body.arguments} - own
        needed = []
        for view in body.operations:
            op = view.operation
            if op == terminator(body) or any(value in others for value in op.operands):
                needed += [value for value in op.operands if value in own]
                others.update(op.results)
            else:
                own.update(op.results)
        return list(dict.fromkeys(needed))

    @property
    def terms(self) -> list[ir.Value]:
        """Return the values of the body whose sum is added to that of a result."""
        running = self.nest.body.arguments[len(self.nest.body.arguments) - 1]
        first, second = self.combining.operands
        added = second if first == running else first
        op = None if isinstance(added.owner, ir.Block) else added.owner.operation
        is_sum = op is not None and op.name == "arith.addf" and op.block == self.nest.body
        return list(op.operands) if op is not None and is_sum else [added]

    def block(self, width: int) -> int:
        """Return how many columns to dequantize together, in tiles of `width`; 0 for none."""
        if self.rows <= _FEW_ROWS or not self.has_plain_values:
            return 0
        columns = self.nest.loops[self.column].extent
        most = min(_MOST_BLOCK, columns, max(width, _BLOCK_BYTES // self.column_bytes))
        return most - most % width

    @property
    def has_plain_values(self) -> bool:
        """Tell whether what is dequantized are numbers of f32, which memory may hold."""
        return all(str(value.type) == "f32" for value in self.weight_values)

    @property
    def column_bytes(self) -> int:
        """Return the bytes of one column, dequantized."""
        steps = prod(self.nest.loops[number].extent for number in self.nest.reductions)
        return 4 * steps * max(1, len(self.weight_values))

    def vectors(self, registers: Registers) -> list[int]:
        """Return how many elements a vector may have, most first."""
        extent = self.nest.loops[self.step].extent
        sizes = [registers.lanes >> i for i in range(registers.lanes.bit_length())]
        return [size for size in sizes if size >= MIN_LANES and extent % size == 0]

    def tile(self, registers: Registers) -> tuple[int, int]:
        """Return the rows and columns of a tile that the registers hold."""
        columns = self.nest.loops[self.column].extent
        shapes = [
            (height, width)
            for height in range(1, min(self.rows, TILE_ROWS) + 1)
            for width in WIDTHS
            if width <= columns and height * width + 6 <= registers.count
        ]
        height, width = max(
            shapes, key=lambda shape: (shape[0] * shape[1], shape[1]), default=(1, 1)
        )
        tiles = -(-self.rows // height)
        return -(-self.rows // tiles), width  # the last tile moves back: equal ones do least twice


def _is_bytes(access: BufferOperand, reductions: Sequence[int]) -> bool:
    """Tell whether an input is a matrix of bytes, which lie along the steps of a reduction."""
    if access.is_scalar or str(access.element_type) != "i8":
        return False
    return any(access.strides[number] == 1 for number in reductions)
