# SPDX-License-Identifier: MIT OR Apache-2.0
"""Norms of rows that lie between one another: groups of the channels of images, channels last.

A block for each row would read a few bytes of every sector of memory. Parts are columns instead,
so many places of one channel each: neighbouring threads take neighbouring channels, and whole
sectors are used. On CPUs vectors hold neighbouring channels.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import prod

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.dtypes import item_bytes
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.fusion.norms.norm_in_parts import LAYER_NORM, NormInParts
from xyntra.passes.fusion.norms.rows_of_views import RowSource, permutation

__all__ = [
    "ColumnNorm",
    "InterleavedNorm",
    "InterleavedRows",
    "channel_column",
    "column_length",
    "interleaved_rows",
    "is_of_columns",
]

_LONGEST, _SHORTEST = 256, 16  # elements of a column: what a few threads hold in registers
_COLUMN_BYTES = 132 << 7  # of one place in all columns: 128 for each multiprocessor
_FEW_COLUMNS = 1 << 11
_FEW_ELEMENTS = 1 << 18  # which few blocks may reduce
_FEWEST_ELEMENTS = 1 << 15  # with less, launches take longer than what they read
_SECTOR_BYTES = 32
_VECTOR_BYTES = 64  # of the widest vectors of a CPU
_CPU_COLUMN, _LONGEST_CPU_COLUMN = 512, 16 << 10  # elements added up one after another


@dataclass(frozen=True)
class InterleavedRows:
    """Rows of a tensor whose innermost dimension holds a part of each row side by side.

    Attributes:
        source: the tensor as it lies in memory, and what leads from it to one with whole rows.
        batch: how many times there are such rows.
        places: how many parts each row has, one behind another in memory.
        groups: rows that lie side by side.
        width: elements of a row that are contiguous.
    """

    source: RowSource
    batch: int
    places: int
    groups: int
    width: int

    @property
    def channels(self) -> int:
        """Elements of the innermost dimension."""
        return self.groups * self.width


def interleaved_rows(x: Tensor, rows: int) -> InterleavedRows | None:
    """Return where the rows of `x` lie, of which there are `rows`, one after another.

    None where that is not behind reshapes and a transpose that takes the innermost dimension to
    before those along the rows.
    """
    views: list[tuple[str, tuple[int, ...]]] = []
    value = x.value
    op = owner_of(value)
    while op is not None and op.name in RESHAPES:
        views.insert(0, ("reshape", tuple(ir.RankedTensorType(value.type).shape)))
        value = op.operands[0]
        op = owner_of(value)
    order = None if op is None else permutation(op)
    if op is None or order is None:
        return None
    views.insert(0, ("transpose", order))
    shape, last = ir.RankedTensorType(value.type).shape, len(order) - 1
    place = order.index(last)
    if place == last or order != (*range(place), last, *range(place, last)) or 0 in shape:
        return None
    batch, channels = prod(shape[:place]), shape[place]
    groups = rows // batch
    if rows % batch or groups < 2 or channels % groups:
        return None
    source = RowSource(Tensor(op.operands[0], x.dtype), place, tuple(views))
    return InterleavedRows(source, batch, prod(shape[place + 1 :]), groups, channels // groups)


def column_length(rows: InterleavedRows) -> int:
    """Return how many elements columns should have; 0 where blocks for rows take less time."""
    item = item_bytes(rows.source.tensor.dtype)
    elements = rows.batch * rows.places * rows.channels
    if elements < _FEWEST_ELEMENTS or rows.channels * item < _SECTOR_BYTES:
        return 0
    enough = _FEW_COLUMNS if elements < _FEW_ELEMENTS else _COLUMN_BYTES // item
    divisors = [n for n in range(_SHORTEST, _LONGEST + 1) if rows.places % n == 0]
    return max((n for n in divisors if elements // n > enough), default=0)


def channel_column(rows: InterleavedRows) -> int:
    """Return how many elements columns should have on a CPU; 0 where they fill no vector."""
    if rows.channels * item_bytes(rows.source.tensor.dtype) < _VECTOR_BYTES:
        return 0
    most = min(rows.places, _CPU_COLUMN)
    found = max(each for each in range(1, most + 1) if rows.places % each == 0)
    if found >= min(rows.places, _SHORTEST):
        return found
    return rows.places if rows.places <= _LONGEST_CPU_COLUMN else 0


def is_of_columns(op: ir.Operation, rows: InterleavedRows, most: int) -> bool:
    """Tell whether the rows of a norm are channels, of `most` bytes, that one launch holds."""
    nbytes = item_bytes(rows.source.tensor.dtype)
    elements = rows.batch * rows.places * rows.channels
    is_few = elements < _FEWEST_ELEMENTS and rows.channels * nbytes >= _SECTOR_BYTES
    is_held = rows.places * nbytes <= most
    return op.name == LAYER_NORM and rows.width == 1 and is_few and is_held


@dataclass(frozen=True)
class InterleavedNorm(NormInParts):
    """A norm to be replaced, whose parts are columns of one channel each.

    Attributes:
        interleaved: where rows lie.
    """

    interleaved: InterleavedRows

    @classmethod
    def of(
        cls, op: ir.Operation, builder: TensorBuilder, found: InterleavedRows, part: int
    ) -> InterleavedNorm:
        """Return the norm `op` of rows `found`, with parts of `part` elements."""
        rows, length = found.batch * found.groups, found.places * found.width
        return cls(op, builder, found.source, rows, length, part, found)

    @property
    def _columns(self) -> tuple[int, int, int]:
        """Return how many there are, one after another where a row's are contiguous."""
        found = self.interleaved
        return found.batch, found.channels, found.places // self.part

    def _part_sums(self) -> Tensor:
        return self._reduced(lambda x: x, None)

    def _part_squares(self, means: Tensor | None) -> Tensor:
        if means is None:
            return self._reduced(lambda x: x * x, None)
        given = self.builder.reshape(means, self._columns)
        return self._reduced(lambda x, mean: (x - mean) * (x - mean), given)

    def _reduced(self, element: Callable[..., Scalar], means: Tensor | None) -> Tensor:
        """Add up what `element` gives for each element of a column, and the column's mean."""
        b, (batch, channels, parts) = self.builder, self._columns
        values = b.reshape(self.source.tensor, [batch, parts, self.part, channels])
        start = b.fill(self._columns, self.wide, 0.0)
        with b.location:
            number, channel, part, place = (ir.AffineDimExpr.get(each) for each in range(4))
            read = ir.AffineMap.get(4, 0, [number, part, place, channel])
            column = ir.AffineMap.get(4, 0, [number, channel, part])

        def body(x: Scalar, *others: Scalar) -> Scalar:
            return others[-1] + element(x.cast(self.wide), *others[:-1])

        kinds: list[Iterator] = ["parallel", "parallel", "parallel", "reduction"]
        inputs = [(values, read), *([] if means is None else [(means, column)])]
        found = b.generic(inputs, [(start, self.wide, column)], kinds, body)[0]
        return b.reshape(found, [self.rows, self.interleaved.width * parts])

    def _mean_to_apply(self, mean: Tensor, total: Tensor, parts: int) -> Tensor:
        return self._of_channels(lambda sum_: sum_ / parts, total)

    def _factor(self, squares: Tensor) -> Tensor:
        return self._of_channels(self._inverse_deviation, squares)

    def _of_channels(self, body: Callable[..., Scalar], sums: Tensor) -> Tensor:
        """Apply `body` to what rows have, for each of their channels."""
        b, found = self.builder, self.interleaved
        given = b.reshape(sums, [found.batch, found.groups, 1])
        shape = [found.batch, found.groups, found.width]
        values = b.map(body, given, dtype=self.wide, shape=shape)
        return b.reshape(values, [found.batch, found.channels])

    def _applied(self, statistics: list[Tensor], dtype: str) -> Tensor:
        tensor, leading = self.source.tensor, self.source.leading
        shape = [*tensor.shape[:leading], tensor.shape[-1]]
        given = [self.builder.reshape(each, shape) for each in statistics]
        return self._given(self._normal, tensor, given, [*range(leading), tensor.rank - 1], dtype)


@dataclass(frozen=True)
class ColumnNorm(InterleavedNorm):
    """A norm to be replaced, of columns that are whole rows: all places of one channel each.

    Threads side by side hold neighbouring columns in registers, and store what they give side by
    side, too: as rows, elements of a channel would be written far from one another.
    """

    def _moments(self) -> list[Tensor]:
        b, x = self.builder, self.source.tensor
        axes = range(self.source.leading, x.rank - 1)
        total = b.reduce(x, axes, "sum", accumulator=self.wide)
        mean = self._map(lambda sum_: sum_ / self.length, total)
        centred = self._map(lambda each, mean: each.cast(self.wide) - mean, x, mean)
        squares = b.reduce(
            centred, axes, "sum", accumulator=self.wide, element=lambda each: each * each
        )
        return [self._map(self._inverse_deviation, squares), mean]
