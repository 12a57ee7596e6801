# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recognises products of rows with a matrix, whose weight may be packed."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import PackedWeight, packed_product
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.fusion.weights.weights import constant_of_fill

__all__ = ["MatrixProduct"]


@dataclass(frozen=True)
class MatrixProduct:
    """A product of rows [..., K] with a weight.

    Attributes:
        op: the linalg.generic.
        rows: number of the operand with the rows.
        turned: whether the weight is [K, N], rather than [N, K].
    """

    op: ir.Operation
    rows: int
    turned: bool

    @classmethod
    def of(cls, op: ir.Operation, place: int) -> MatrixProduct | None:
        """Return `op`, which reads a weight as operand `place`; None where it is none."""
        if op.name != "linalg.generic" or list(op.attributes["operandSegmentSizes"]) != [2, 1]:
            return None
        body = op.regions[0].blocks[0]
        if not is_multiply_add(body) and not is_multiply_add(body, widened=True):
            return None
        initial = constant_of_fill(op.operands[2])
        if not isinstance(initial, ir.FloatAttr) or initial.value != 0:
            return None
        maps = [_dims(ir.AffineMapAttr(each).value) for each in op.attributes["indexing_maps"]]
        weight, rows, result = maps[place], maps[1 - place], maps[2]
        if not weight or not rows or not result or rows[:-1] != result[:-1]:
            return None
        if len(set(result)) != len(result) or rows[-1] in result or result[-1] in rows:
            return None
        if weight not in ([result[-1], rows[-1]], [rows[-1], result[-1]]):
            return None
        return cls(op, 1 - place, weight[0] == rows[-1])

    @property
    def weight(self) -> ir.Value:
        """The matrix."""
        return self.op.operands[1 - self.rows]

    def replace(self, b: TensorBuilder, weight: PackedWeight) -> None:
        """Let all that reads the result read that of a product with the packed weight."""
        rows, result = Tensor.of(self.op.operands[self.rows]), Tensor.of(self.op.results[0])
        flat = b.reshape(rows, [prod(rows.shape[:-1]), weight.steps])
        found = b.reshape(packed_product(b, flat, weight, result.dtype), result.shape)
        self.op.results[0].replace_all_uses_with(found.value)


def _dims(map_: ir.AffineMap) -> list[int]:
    """Return the loops that a map reads by; none where it does something else."""
    if not all(isinstance(each, ir.AffineDimExpr) for each in map_.results):
        return []
    return [ir.AffineDimExpr(each).position for each in map_.results]
