# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells at which numbers of rows a loop nest reads the same rows of an operand as it writes.

A tensor is row-major. The positions of its first dimensions number its rows: a result of shape
[2, 3, 4] has 1, 2, 6 or 24 rows, by how many dimensions are taken. An operand is *aligned* at R
rows if row i of the result needs nothing of it but row i of R, and *pointwise* if element i needs
nothing but element i. Dimensions of extent one make no difference.

The positions of the first and the last dimensions together number its columns, whose elements lie
apart: with the first and the last one, a result of shape [2, 3, 4] has 2 times 4 of three elements.
A read is aligned at such columns if one of the result needs nothing but the same of the operand.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from math import prod

__all__ = [
    "CONSTANT",
    "OTHER",
    "Alignment",
    "Columns",
    "Rows",
    "Shape",
    "compare",
    "numbers_of_columns",
    "numbers_of_rows",
    "shared_numbers",
]

Shape = tuple[int, ...]
Rows = frozenset[int]
Columns = frozenset[tuple[int, int]]

CONSTANT, OTHER = -1, -2
"""In place of a loop: a position that is constant, or computed from several loops."""


@dataclass(frozen=True)
class Alignment:
    """At what a read is aligned.

    `rows` are numbers of rows, 1 among them, `columns` those of columns by the first and by the
    last dimensions; `pointwise` tells of single elements.
    """

    rows: Rows
    pointwise: bool
    columns: Columns = frozenset()


@lru_cache(maxsize=8192)
def numbers_of_rows(shape: Shape, dimensions: int | None = None) -> Rows:
    """The numbers of rows of a tensor of `shape` by its first `dimensions`, or by all."""
    return frozenset(prod(shape[:count]) for count in range(len(shape[:dimensions]) + 1)) | {1}


@lru_cache(maxsize=8192)
def numbers_of_columns(shape: Shape, own: tuple[int, int] = (0, 0)) -> Columns:
    """The numbers of columns of a tensor of `shape` that hold its dimensions `own`, from and to."""
    extents = [(extent, own[0] <= place < own[1]) for place, extent in enumerate(shape)]
    whole = [pair for pair in extents if pair[0] != 1 or pair[1]]
    return _cuts([(n, not inside) for n, inside in whole], [(n, not inside) for n, inside in whole])


def _cuts(written: list[tuple[int, bool]], read: list[tuple[int, bool]]) -> Columns:
    """Columns by the first and the last of dimensions, each with whether it may number them."""
    shorter = min(written, read, key=len)
    front = next((i for i, pair in enumerate(written) if not pair[1]), len(written))
    back = next((i for i, pair in enumerate(reversed(read)) if not pair[1]), len(read))
    found = set()
    for first in range(min(front, len(shorter)) + 1):
        for last in range(1, min(back, len(shorter) - first) + 1):
            pieces = prod(extent for extent, _ in written[:first])
            found.add((pieces, prod(extent for extent, _ in read[len(read) - last :])))
    return frozenset(found)


@lru_cache(maxsize=8192)
def shared_numbers(first: Rows, second: Rows) -> Rows:
    """The numbers of rows that two chains of divisors allow.

    Neighbouring rows can be taken together: where 2560 rows can be computed apart from each other,
    so can 256. Of such numbers, those are taken that the other chain has, or could have between
    two of its numbers.
    """
    return frozenset(
        [rows for rows in first if _fits(rows, second)]
        + [rows for rows in second if _fits(rows, first)]
    )


def _fits(rows: int, chain: Rows) -> bool:
    links = sorted(chain)
    return rows in chain or any(
        low < rows < high and rows % low == 0 and high % rows == 0 for low, high in pairwise(links)
    )


@lru_cache(maxsize=8192)
def compare(
    result: tuple[int, ...], result_shape: Shape, operand: tuple[int, ...], operand_shape: Shape
) -> Alignment:
    """Compare where a loop nest writes with where it reads.

    Args:
        result: the loop that indexes each dimension of the result.
        result_shape: its extents.
        operand: the same of an operand; `CONSTANT` or `OTHER` where it is no single loop.
        operand_shape: its extents.
    """
    written = _without_units(result, result_shape)
    read = _without_units(operand, operand_shape)
    rows, common = {1}, 0
    while common < min(len(written), len(read)) and _agree(written[common], read[common]):
        common += 1
        rows.add(prod(extent for _, extent in written[:common]))
    forth = [(pair[0][1], _agree(*pair)) for pair in zip(written, read, strict=False)]
    back = [(p[0][1], _agree(*p)) for p in zip(written[::-1], read[::-1], strict=False)][::-1]
    return Alignment(frozenset(rows), common == len(written) == len(read), _cuts(forth, back))


def _without_units(loops: tuple[int, ...], shape: Shape) -> list[tuple[int, int]]:
    return [pair for pair in zip(loops, shape, strict=True) if pair[1] != 1]


def _agree(written: tuple[int, int], read: tuple[int, int]) -> bool:
    return written[0] >= 0 and written == read
