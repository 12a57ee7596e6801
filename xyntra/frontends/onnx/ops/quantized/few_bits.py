# SPDX-License-Identifier: MIT OR Apache-2.0
"""Products with weights of 4 or 8 bits that stay packed (domain com.microsoft)."""

from __future__ import annotations

from math import prod

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.packed_product import ROUNDS_ROWS, PackedWeight, packed_product
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of
from xyntra.frontends.onnx.opsets import MICROSOFT

_FLOATS = ("float32", "float16", "bfloat16")
_INTEGER_LEVEL = 4
"""The accuracy level that allows rows to be rounded to 8 bits in blocks."""
_LARGEST = 1 << 31
"""Rows, columns and block sizes of a weight: more are no model's."""


@handles("MatMulNBits", domain=MICROSOFT)
def matmul_n_bits(node: Node) -> Tensor:
    """A product with a weight that is dequantized by blocks along the sum."""
    a = node.tensor(0)
    if a.dtype not in _FLOATS:
        raise node.unsupported(f"input 0 of dtype {a.dtype}")
    weight = _weight(node)
    if not a.rank or a.shape[-1] != weight.steps:
        raise node.invalid(f"input 0 has shape {a.shape}, and K is {weight.steps}")
    wide = accumulator_of(a.dtype)
    rows = node.b.reshape(a, [prod(a.shape[:-1]), weight.steps])
    product = packed_product(node.b, rows, weight, wide)
    if int(node.attribute("accuracy_level", 0)) == _INTEGER_LEVEL:
        with node.b.location as location:
            unit = ir.UnitAttr.get(location.context)
        product.value.owner.operation.attributes[ROUNDS_ROWS] = unit
    bias = [node.operand(5)] if node.has(5) else []
    for addend in bias:
        if tuple(addend.shape) != (weight.columns,):
            raise node.invalid(
                f"input 5 (bias) has shape {addend.shape}, and N is {weight.columns}"
            )

    def body(value: Scalar, *more: Scalar) -> Scalar:
        for addend in more:
            value = value + addend.cast(wide)
        return value.cast(a.dtype)

    if bias or wide != a.dtype:
        product = node.b.map(body, product, *bias, dtype=a.dtype)
    return node.b.reshape(product, [*a.shape[:-1], weight.columns])


def _weight(node: Node) -> PackedWeight:
    """The weight that the node's packed integers, scales and zero points stand for."""
    columns, steps, block = (int(node.required(name)) for name in ("N", "K", "block_size"))
    bits = int(node.attribute("bits", 4))
    if bits not in (4, 8):
        raise node.unsupported(f"weights of {bits} bits")
    if node.has(4):
        raise node.unsupported("input 4 (g_idx)")
    for name, size in (("N", columns), ("K", steps), ("block_size", block)):
        if not 0 < size < _LARGEST:
            raise node.invalid(f"attribute {name} is {size}")
    if block < 16 or block & (block - 1):
        raise node.invalid(f"blocks of {block}, expected a power of two from 16 on")
    blocks = -(-steps // block)
    packed, scales = node.tensor(1), node.tensor(2)
    shape = [columns, blocks, block * bits // 8]
    if packed.dtype != "uint8" or prod(packed.shape) != prod(shape):
        raise node.invalid(
            f"input 1 has shape {packed.shape} and dtype {packed.dtype}, "
            f"expected {tuple(shape)} and uint8"
        )
    if scales.dtype not in _FLOATS or prod(scales.shape) != columns * blocks:
        raise node.invalid(
            f"input 2 (scales) has shape {scales.shape} and dtype {scales.dtype}, "
            f"expected floats of shape {(columns, blocks)}"
        )
    scales = node.b.reshape(scales, [columns, blocks])
    zeros = _zeros(node, columns, blocks, bits) if node.has(3) else 1 << (bits - 1)
    return PackedWeight(node.b.reshape(packed, shape), scales, zeros, bits, steps)


def _zeros(node: Node, columns: int, blocks: int, bits: int) -> Tensor:
    """The zero points [columns, blocks]: bytes, which may be packed as weights are, or floats."""
    zeros = node.tensor(3)
    size = -(-blocks * bits // 8)
    count = columns * (blocks if is_float(zeros.dtype) else size)
    if zeros.dtype not in (*_FLOATS, "uint8") or prod(zeros.shape) != count:
        raise node.invalid(
            f"input 3 (zero points) has shape {zeros.shape} and dtype {zeros.dtype}, "
            f"expected {count} bytes or {columns * blocks} floats"
        )
    if is_float(zeros.dtype):
        return node.b.reshape(zeros, [columns, blocks])
    return node.b.slice(unpacked(node, zeros, columns, bits), [0, 0], [columns, blocks], [1, 1])


def unpacked(node: Node, packed: Tensor, rows: int, bits: int) -> Tensor:
    """Bytes as [rows, …], one for each integer; of two in a byte the low one comes first."""
    count = prod(packed.shape) // rows
    if bits == 8:
        return node.b.reshape(packed, [rows, count])
    halves = node.b.map(
        lambda byte, shift: (byte >> shift) & 15,
        node.b.reshape(packed, [rows, count, 1]),
        np.array([0, 4], np.uint8),
        dtype="uint8",
    )
    return node.b.reshape(halves, [rows, 2 * count])
