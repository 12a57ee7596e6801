# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds products of rows in 8 bits with weights in 4, which sum integers exactly in each block."""

from __future__ import annotations

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.packed_product import PackedWeight

__all__ = ["rounded_contraction"]


def rounded_contraction(
    b: TensorBuilder, rows: Tensor, row_scales: Tensor, weight: PackedWeight
) -> Tensor:
    """Return the product [M, N] in f32 of rows that are integers with scales for blocks.

    It is one contraction: the sum over blocks and bytes of
    `(row * (integer - zero)) * (scale * row_scale)`, of which the first factor is an integer.

    Args:
        b: where it is built.
        rows: int8, [M, blocks, bytes of a block, 2].
        row_scales: f32, [M, blocks].
        weight: of 4 bits, with zero points that are integers.
    """
    with b.location:
        m, n, block, byte = (ir.AffineDimExpr.get(i) for i in range(4))

        def read(*places: ir.AffineExpr) -> ir.AffineMap:
            return ir.AffineMap.get(4, 0, places)

        halves = [ir.AffineConstantExpr.get(i) for i in range(2)]
        inputs = [(rows, read(m, block, byte, half)) for half in halves]
        inputs.append((row_scales, read(m, block)))
        inputs += [(weight.integers, read(n, block, byte)), (weight.scales, read(n, block))]
        if isinstance(weight.zeros, Tensor):
            inputs.append((weight.zeros, read(n, block)))
        write = read(m, n)

    def body(*scalars: Scalar) -> Scalar:
        low, high, row_scale, packed, scale, *zeros, running = scalars
        zero = zeros[0].cast("int32") if zeros else weight.zeros
        if isinstance(zero, Tensor):
            raise TypeError("a tensor of zero points is read as a scalar")
        total = low.cast("int32") * ((packed & 15).cast("int32") - zero)
        total = total + high.cast("int32") * ((packed >> 4).cast("int32") - zero)
        return running + total.cast("float32") * (scale.cast("float32") * row_scale)

    initial = b.fill([rows.shape[0], weight.columns], "float32", 0)
    kinds: list[Iterator] = ["parallel", "parallel", "reduction", "reduction"]
    return b.generic(inputs, [(initial, "float32", write)], kinds, body)[0]
