# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares how an operation reads an operand with how it writes its result.

Tensors are row-major. Cutting a tensor into R equal pieces of consecutive elements gives its rows;
R is a product of leading extents. A read is *aligned at R* if row i of the result needs nothing but
row i of the operand. Reshapes do not move elements, so alignment is the same seen through them.

Columns lie across: cut into N equal pieces of rows of P elements, a tensor has N x P columns, and a
read is aligned at (N, P) if a column of the result needs nothing but the same one of the operand.
So are reads of the mean over the channels of an image by what subtracts it from every channel.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from math import prod

from xyntra.dialects.mlir import ir

__all__ = [
    "Columns",
    "LoopCache",
    "Loops",
    "RowAccess",
    "access",
    "column_counts",
    "common_rows",
    "encode",
    "loops_of",
    "row_counts",
]

Shape = tuple[int, ...]
Columns = frozenset[tuple[int, int]]
"""Ways to cut a tensor into columns: numbers of pieces, and of columns of each."""
LoopCache = dict[tuple[ir.Attribute, ir.Attribute, int], "Loops"]
_CONSTANT, _OTHER = -1, -2


@dataclass(frozen=True)
class RowAccess:
    """The rows of an operand that a row of the result reads.

    Attributes:
        rows: numbers of rows at which the read is aligned; 1 always is.
        pointwise: whether element i of the result needs element i of the operand alone.
        summand: whether every iteration of a reduction reads an element of its own.
        columns: pairs of numbers at which the read is aligned.
    """

    rows: frozenset[int]
    pointwise: bool
    summand: bool = False
    columns: Columns = frozenset()


UNALIGNED = RowAccess(frozenset({1}), False)


class Loops:
    """The loops of a linalg.generic and how they index each operand.

    Attributes:
        reductions: for every loop, whether it reduces.
        maps: for every operand, the loop that indexes each dimension; negative where the index is a
            constant or computed from several loops.
        inputs: number of operands that are only read.
        is_parallel: whether every iteration stands alone.
        is_plain: whether single loops, or constants, index every dimension of every operand.
        writes_in_order: whether all loops in order index every output.
    """

    def __init__(
        self, reductions: tuple[bool, ...], maps: tuple[tuple[int, ...], ...], inputs: int
    ) -> None:
        self.reductions = reductions
        self.maps = maps
        self.inputs = inputs
        self.is_parallel = not any(reductions)
        self.is_plain = all(_OTHER not in map_ for map_ in maps)
        order = tuple(range(len(reductions)))
        self.writes_in_order = all(map_ == order for map_ in maps[inputs:])
        self._known: dict[tuple[int, Shape, Shape], RowAccess] = {}

    def access(self, operand: int, result_shape: Shape, operand_shape: Shape) -> RowAccess:
        """Compare the loops that index the last output with those that index an operand."""
        key = (operand, result_shape, operand_shape)
        found = self._known.get(key)
        if found is None:
            found = access(self.maps[-1], result_shape, self.maps[operand], operand_shape)
            if not self.is_parallel and self.maps[operand] == tuple(range(len(self.reductions))):
                found = replace(found, summand=True)
            self._known[key] = found
        return found


def loops_of(generic: ir.Operation, parsed: LoopCache) -> Loops:
    """The loops of a `linalg.generic`; `parsed` keeps those of equal attributes."""
    attributes = generic.attributes
    results = len(generic.results)
    key = (attributes["indexing_maps"], attributes["iterator_types"], results)
    found = parsed.get(key)
    if found is None:
        reductions = tuple("reduction" in str(kind) for kind in key[1])
        maps = tuple(encode(attribute.value) for attribute in key[0])
        found = parsed[key] = Loops(reductions, maps, len(maps) - results)
    return found


def encode(map_: ir.AffineMap) -> tuple[int, ...]:
    """The loop that indexes each dimension; negative where it is no single loop."""
    return tuple(_loop_of(expression) for expression in map_.results)


def _loop_of(expression: ir.AffineExpr) -> int:
    if isinstance(expression, ir.AffineDimExpr):
        return int(expression.position)
    return _CONSTANT if isinstance(expression, ir.AffineConstantExpr) else _OTHER


@lru_cache(maxsize=4096)
def row_counts(shape: Shape, dimensions: int | None = None) -> frozenset[int]:
    """Numbers of rows that cuts behind the first `dimensions` dimensions (all of them) can give."""
    counts, product = {1}, 1
    for extent in shape[:dimensions]:
        product *= extent
        counts.add(product)
    return frozenset(counts)


@lru_cache(maxsize=4096)
def column_counts(shape: Shape, before: int | None = None, behind: int = 0) -> Columns:
    """Numbers of columns that cuts in the dimensions in front of one and behind another can give.

    Args:
        shape: of a tensor.
        before: how many dimensions may be in front of the columns' own; None for all.
        behind: the first one that may be behind these.
    """
    first = [extent for extent in shape[:before] if extent != 1]
    last = [extent for extent in shape[behind:] if extent != 1]
    count = sum(extent != 1 for extent in shape)
    return _pairs(first, last, count)


def _pairs(first: Sequence[int], last: Sequence[int], count: int) -> Columns:
    """Products of the first of some extents and the last of others, of `count` together at most."""
    return frozenset(
        (prod(first[:pieces]), prod(last[len(last) - beside :]))
        for beside in range(1, len(last) + 1)
        for pieces in range(min(len(first), count - beside) + 1)
    )


def access(
    result: Sequence[int], result_shape: Shape, operand: Sequence[int], operand_shape: Shape
) -> RowAccess:
    """Compare the loops that index a result with those that index an operand."""
    ours = [item for item in zip(result, result_shape, strict=True) if item[1] != 1]
    theirs = [item for item in zip(operand, operand_shape, strict=True) if item[1] != 1]
    first = _agreed(ours, theirs)
    last = _agreed(ours[::-1], theirs[::-1])[::-1]
    shorter = min(len(ours), len(theirs))
    counts = frozenset(prod(first[:count]) for count in range(len(first) + 1))
    is_pointwise = len(first) == len(ours) == len(theirs)
    return RowAccess(counts, is_pointwise, columns=_pairs(first, last, shorter))


def _agreed(ours: Sequence[tuple[int, int]], theirs: Sequence[tuple[int, int]]) -> list[int]:
    """Extents of the first dimensions that the same loops index."""
    found = []
    for (loop, extent), other in zip(ours, theirs, strict=False):
        if loop < 0 or (loop, extent) != other:
            break
        found.append(extent)
    return found


@lru_cache(maxsize=8192)
def common_rows(first: frozenset[int], second: frozenset[int]) -> frozenset[int]:
    """Numbers of rows at which two are aligned.

    What is aligned at R is aligned at every divisor of R, too, for neighbouring rows are one longer
    row. A number of one set counts where it lies between two neighbours of the other, divided by
    one and a divisor of the other: 256 between 8 and 2560.
    """
    if first == second:
        return first
    found = set(first & second)
    found.update(each for each in first if _lies_between(each, second))
    found.update(each for each in second if _lies_between(each, first))
    return frozenset(found)


def _lies_between(number: int, rows: frozenset[int]) -> bool:
    below = max((each for each in rows if each <= number), default=1)
    above = min((each for each in rows if each >= number), default=0)
    if not (number and below and above):  # of a tensor without elements
        return False
    return number % below == 0 and above % number == 0


def through_reshape(seen: RowAccess, shape: Shape) -> RowAccess:
    """The access of one who reads, through a reshape, a tensor of `shape`."""
    columns = seen.columns & column_counts(shape)
    if seen.pointwise:
        return RowAccess(seen.rows & row_counts(shape), True, columns=columns)
    return RowAccess(seen.rows & row_counts(shape) | {1}, False, columns=columns)


def pointwise(shape: Shape) -> RowAccess:
    """The access of one who reads every element where it writes."""
    return RowAccess(row_counts(shape) | {prod(shape)}, True, columns=column_counts(shape))
