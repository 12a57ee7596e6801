# SPDX-License-Identifier: MIT OR Apache-2.0
"""Determinants, by Gaussian elimination with partial pivoting."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, for_range, insert, when
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast


@handles("Det")
def det(node: Node) -> Tensor:
    """Matrices [*, n, n] -> [*]. 16-bit floats are computed in float32."""
    x, b = node.tensor(0), node.b
    if x.rank < 2 or x.shape[-1] != x.shape[-2]:
        raise node.invalid(f"shape {x.shape} holds no square matrices")
    wide, batch = accumulator_of(x.dtype), x.shape[:-2]
    if x.shape[-1] == 1:
        return b.reshape(x, batch)
    result = Tensor(b.fill(batch, wide, 1), wide)
    if 0 in x.shape:
        return cast(b, result, x.dtype)
    pivot = Tensor(b.fill((), "int64", 0), "int64")

    def body(indices: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        matrices, product, chosen = state
        return _eliminate_column(b, indices[:-1], indices[-1], matrices, product, chosen)

    loops = (*batch, x.shape[-1])
    return cast(b, for_each(b, loops, [cast(b, x, wide), result, pivot], body)[1], x.dtype)


def _eliminate_column(
    b: TensorBuilder, row: list[Scalar], k: Scalar, matrices: Tensor, product: Tensor, pivot: Tensor
) -> list[Tensor]:
    """Bring the largest element of column `k` to the diagonal and clear what is below it.

    Args:
        b: where to build.
        row: which matrix.
        k: the column.
        matrices: all matrices, cleared up to the column.
        product: the products of the pivots so far, with their signs.
        pivot: a place for the row of the pivot.
    """
    size = matrices.shape[-1]
    pivot = _find_pivot(b, row, k, matrices, insert(k.cast("int64"), pivot, []))
    at = b.extract(pivot, []).cast("index")

    def swap(j: Scalar, state: list[Tensor]) -> list[Tensor]:
        upper, lower = (b.extract(state[0], [*row, i, j]) for i in (k, at))
        return [insert(upper, insert(lower, state[0], [*row, k, j]), [*row, at, j])]

    (matrices,) = for_range(size, [matrices], swap)
    found = b.extract(matrices, [*row, k, k])
    signed = at.equals(k).select(found, -found)
    product = insert(b.extract(product, row) * signed, product, row)

    def clear(i: Scalar, state: list[Tensor]) -> list[Tensor]:
        head = b.extract(state[0], [*row, i, k])
        factor = found.equals(0).select(constant(0, found.dtype), head / found)

        def subtract(j: Scalar, inner: list[Tensor]) -> list[Tensor]:
            above, old = (b.extract(inner[0], [*row, r, j]) for r in (k, i))
            new = (_below(k, i) & _below(k, j)).select(old - factor * above, old)
            return [insert(new, inner[0], [*row, i, j])]

        return for_range(size, state, subtract)

    return [for_range(size, [matrices], clear)[0], product, pivot]


def _find_pivot(
    b: TensorBuilder, row: list[Scalar], k: Scalar, matrices: Tensor, pivot: Tensor
) -> Tensor:
    def body(i: Scalar, state: list[Tensor]) -> list[Tensor]:
        best = b.extract(state[0], []).cast("index")
        new, old = (b.extract(matrices, [*row, r, k]).absolute() for r in (i, best))
        larger = _below(k, i) & (new > old)
        return when(larger, state, lambda: [insert(i.cast("int64"), state[0], [])])

    return for_range(matrices.shape[-1], [pivot], body)[0]


def _below(k: Scalar, i: Scalar) -> Scalar:
    return i.cast("int64") > k.cast("int64")
