# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows of a table that is quantized by blocks, as embeddings of language models are stored."""

from __future__ import annotations

import numpy as np
from torch_mlir import ir

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.ops.quantized.few_bits import unpacked
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.onnx.ops.tensors.indices import checked_indices
from xyntra.frontends.onnx.opsets import MICROSOFT


@handles("GatherBlockQuantized", domain=MICROSOFT)
def gather_block_quantized(node: Node) -> Tensor:
    """Table [rows, ..., bytes] and indices -> [*indices, ..., columns], in the dtype of the scales.

    Of two integers in a byte, the low one comes first. Only the rows that are asked for are
    dequantized.
    """
    table, indices, scales = node.tensor(0), node.operand(1), node.tensor(2)
    bits, block = int(node.attribute("bits", 4)), int(node.attribute("block_size", 128))
    if table.dtype != "uint8" or bits not in (4, 8):
        raise node.unsupported(f"a table of {table.dtype} with {bits} bits an element")
    rank, per_byte = table.rank, 8 // bits
    if rank < 2 or block < 1:
        raise node.invalid(f"a table of shape {table.shape} in blocks of {block}")
    quantized = node.axis(int(node.attribute("quantize_axis", 1)), rank)
    if node.axis(int(node.attribute("gather_axis", 0)), rank) or quantized != rank - 1:
        raise node.unsupported("axes other than the first to gather and the last to quantize")
    columns = table.shape[-1] * per_byte
    blocks = -(-columns // block)
    if scales.shape != (*table.shape[:-1], blocks):
        raise node.invalid(f"scales {scales.shape} for blocks of {block} of a table {table.shape}")
    where = checked_indices(node, indices, table.shape[0])

    def rows_of(x: Tensor, count: int, packed: bool) -> Tensor:
        """[*indices, ..., count] of one of the tables."""
        found = take(node.b, x, where, 0)
        if not packed:
            return found
        flat = unpacked(node, found, int(np.prod(found.shape[:-1])), bits)
        whole = node.b.reshape(flat, [*found.shape[:-1], found.shape[-1] * per_byte])
        sizes = [*found.shape[:-1], count]
        return node.b.slice(whole, [0] * whole.rank, sizes, [1] * whole.rank)

    integers = rows_of(table, columns, bits == 4)
    factors = _repeated(node, rows_of(scales, blocks, False), integers.shape, block)
    zeros: Operand = np.array(1 << (bits - 1), np.uint8)
    if node.has(3):
        points = rows_of(node.tensor(3), blocks, bits == 4)
        zeros = _repeated(node, points, integers.shape, block)
    wide = accumulator_of(scales.dtype)

    def body(value: Scalar, scale: Scalar, zero: Scalar) -> Scalar:
        centred = value.cast("int32") - zero.cast("int32")
        return (centred.cast(wide) * scale.cast(wide)).cast(scales.dtype)

    return node.b.map(body, integers, factors, zeros, dtype=scales.dtype)


def _repeated(node: Node, x: Tensor, shape: tuple[int, ...], block: int) -> Tensor:
    """Each element of the last dimension `block` times."""
    return node.b.view(x, shape, lambda *d: [*d[:-1], ir.AffineExpr.get_floor_div(d[-1], block)])
