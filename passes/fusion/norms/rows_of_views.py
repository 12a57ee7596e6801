# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds what lies in memory behind transposes and reshapes that leave rows together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from operator import mul

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.analysis.views import RESHAPES

__all__ = ["RowSource", "permutation", "row_source"]


@dataclass(frozen=True)
class RowSource:
    """A tensor with the same rows as another one, which has their elements in any order.

    Attributes:
        tensor: as it lies in memory.
        leading: how many of its dimensions count rows.
        views: what leads from it to the other one: shapes, and permutations of dimensions.
    """

    tensor: Tensor
    leading: int
    views: tuple[tuple[str, tuple[int, ...]], ...] = ()

    def seen(self, builder: TensorBuilder, values: Tensor, shape: Sequence[int]) -> Tensor:
        """Return `values`, which lie as `tensor` does, as the other tensor has its elements."""
        for name, numbers in self.views:
            if name == "transpose":
                values = builder.transpose(values, numbers)
            else:
                values = builder.reshape(values, numbers)
        return builder.reshape(values, shape)


def row_source(x: Tensor, rows: int) -> RowSource:
    """Return where the rows of `x` lie, of which there are `rows`, one after another."""
    views: list[tuple[str, tuple[int, ...]]] = []
    best = RowSource(x, _leading(x.shape, rows) or 0)
    value = x.value
    while (op := owner_of(value)) is not None:
        if op.name in RESHAPES:
            views.insert(0, ("reshape", tuple(ir.RankedTensorType(value.type).shape)))
        else:
            order = permutation(op)
            if order is None:
                break
            leading = _leading(ir.RankedTensorType(value.type).shape, rows)
            if leading is None or order[:leading] != tuple(range(leading)):
                break
            views.insert(0, ("transpose", order))
        value = op.operands[0]
        found = _leading(ir.RankedTensorType(value.type).shape, rows)
        if found is not None and any(name == "transpose" for name, _ in views):
            best = RowSource(Tensor(value, x.dtype), found, tuple(views))
    return best


def _leading(shape: Sequence[int], rows: int) -> int | None:
    """Return how many dimensions of `shape` count `rows` rows; None where rows end inside one."""
    sizes = [1, *accumulate(shape, mul)]
    return sizes.index(rows) if rows in sizes and 0 not in shape else None


def permutation(op: ir.Operation) -> tuple[int, ...] | None:
    """Return the dimension of the operand for each of the result, where `op` is a transpose."""
    if op.name != "linalg.generic" or len(op.operands) != 2 or len(op.results) != 1:
        return None
    body = op.regions[0].blocks[0]
    operations = [view.operation for view in body.operations]
    if len(operations) != 1 or list(operations[0].operands) != [body.arguments[0]]:
        return None
    read, written = (ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"])
    if not (read.is_permutation and written.is_permutation):
        return None
    loops = [ir.AffineDimExpr(each).position for each in read.results]
    return tuple(loops.index(ir.AffineDimExpr(each).position) for each in written.results)
