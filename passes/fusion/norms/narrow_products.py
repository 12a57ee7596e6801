# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises matrix products of 16-bit floats that are summed in f32."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.fusion.weights.weights import starts_from_zero

__all__ = [
    "NARROW",
    "NarrowProduct",
    "is_elementwise",
    "product_and_behind",
    "product_of",
    "slices_of_columns",
]

NARROW = ("f16", "bf16")


@dataclass(frozen=True)
class NarrowProduct:
    """`[rows..., k]` times `[k, n]` or `[n, k]` gives `[rows..., n]`, f32.

    Attributes:
        rows: number of the operand with the rows.
        columns: number of the operand with the columns.
        axis: that operand's dimension of `k`.
    """

    rows: int
    columns: int
    axis: int


def product_of(op: ir.Operation) -> NarrowProduct | None:
    """`op` as such a product, whose sums start from zero; None for all else."""
    if op.name != "linalg.generic" or len(op.operands) != 3 or len(op.results) != 1:
        return None
    if not _sums_products(op):
        return None
    loops = [_loops(entry.value) for entry in op.attributes["indexing_maps"]]
    if None in loops:
        return None
    first, second, result = (each or () for each in loops)
    rows, column = result[:-1], result[-1:]
    for left, right, place in ((first, second, 0), (second, first, 1)):
        inner = left[-1:]
        if rows and left[:-1] == rows and set(right) == {*inner, *column} and len(right) == 2:
            return NarrowProduct(place, 1 - place, right.index(inner[0]))
    return None


def _loops(map_: ir.AffineMap) -> tuple[int, ...] | None:
    """The loop of every dimension; None where that is no loop, or one is there twice."""
    found = [each for each in map_.results if isinstance(each, ir.AffineDimExpr)]
    loops = tuple([int(each.position) for each in found])
    return loops if len(set(loops)) == len(map_.results) else None


def _sums_products(op: ir.Operation) -> bool:
    kinds = [ir.RankedTensorType(value.type).element_type for value in op.operands]
    if kinds[0] != kinds[1] or str(kinds[0]) not in NARROW or str(kinds[2]) != "f32":
        return False
    if not starts_from_zero(op):
        return False
    return is_multiply_add(op.regions[0].blocks[0], widened=True)


def is_elementwise(op: ir.Operation, position: int) -> bool:
    """Whether a generic computes its only result, and reads operand `position`, in one order."""
    if op.name != "linalg.generic" or len(op.results) != 1:
        return False
    maps = [entry.value for entry in op.attributes["indexing_maps"]]
    identity = ir.AffineMap.get_identity(maps[-1].n_dims, op.context)
    return bool(maps[-1] == identity and maps[position] == identity)


def product_and_behind(operations: Iterable[ir.Operation]) -> Iterator[ir.Operation]:
    """The products among `operations`, and all elementwise ones that depend on them."""
    values: set[ir.Value] = set()
    for op in operations:
        if product_of(op) is not None or any(
            value in values and is_elementwise(op, position)
            for position, value in enumerate(op.operands)
        ):
            values.update(op.results)
            yield op


def slices_of_columns(result: ir.Value) -> list[tuple[ir.Value, range]]:
    """The slices in which a product's columns are read, with their columns; `result` if in none."""
    whole = list(ir.RankedTensorType(result.type).shape)
    found = []
    for use in result.uses:
        op = use.owner.operation
        columns = _columns(op, whole) if op.name == "tensor.extract_slice" else None
        if columns is None:
            return [(result, range(whole[-1]))]
        found.append((op.results[0], columns))
    found.sort(key=lambda entry: (entry[1].start, entry[1].stop))
    return found or [(result, range(whole[-1]))]


def _columns(op: ir.Operation, whole: list[int]) -> range | None:
    """The columns that a slice has of every row; None where it leaves rows out."""
    if len(op.operands) != 1:
        return None
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    if any(offsets[:-1]) or sizes[:-1] != whole[:-1] or any(step != 1 for step in strides):
        return None
    is_kept = ir.RankedTensorType(op.results[0].type).rank == len(whole)
    return range(offsets[-1], offsets[-1] + sizes[-1]) if is_kept else None
