# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds products with weights of 4 or 8 bits, which are dequantized inside of the product."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar

__all__ = ["PackedWeight", "packed_product"]


@dataclass(frozen=True)
class PackedWeight:
    """A matrix of N rows (the columns of a product) by K steps, quantized by blocks of steps.

    Attributes:
        integers: bytes, [N, blocks, bytes of a block]; of two integers in a byte the low one first.
        scales: [N, blocks], floats of any width.
        zeros: [N, blocks], integers of 8 bits or floats; or one number.
        bits: of an integer, 4 or 8.
        steps: K; the last block may be longer than what is left of it.
    """

    integers: Tensor
    scales: Tensor
    zeros: Tensor | int
    bits: int
    steps: int

    @property
    def columns(self) -> int:
        """How many columns the product has."""
        return self.integers.shape[0]

    @property
    def padded_steps(self) -> int:
        """How many steps all blocks together have."""
        _, blocks, size = self.integers.shape
        return blocks * size * 8 // self.bits


def packed_product(b: TensorBuilder, a: Tensor, weight: PackedWeight, dtype: str) -> Tensor:
    """Return the product [M, N] of `a` [M, K] with the weight, in `dtype`.

    It is one contraction, whose body dequantizes: the sum over blocks and bytes of
    `a * (scale * (integer - zero))`, each byte with its one or two integers.
    """
    rows = a.shape[0]
    _, blocks, size = weight.integers.shape
    each = 8 // weight.bits
    a = b.pad(a, [0, 0], [0, weight.padded_steps - weight.steps], 0)
    a = b.reshape(a, [rows, blocks, size, each] if each > 1 else [rows, blocks, size])
    with b.location:
        m, n, block, byte = (ir.AffineDimExpr.get(i) for i in range(4))

        def read(*places: ir.AffineExpr) -> ir.AffineMap:
            return ir.AffineMap.get(4, 0, places)

        if each == 1:
            factors = [(a, read(m, block, byte))]
        else:
            numbers = [ir.AffineConstantExpr.get(i) for i in range(each)]
            factors = [(a, read(m, block, byte, number)) for number in numbers]
        inputs = [
            (weight.integers, read(n, block, byte)),
            (weight.scales, read(n, block)),
        ]
        if isinstance(weight.zeros, Tensor):
            inputs.append((weight.zeros, read(n, block)))
        write = read(m, n)

    def body(*scalars: Scalar) -> Scalar:
        *arguments, running = scalars
        activations, (packed, scale, *zero) = arguments[:each], arguments[each:]
        integers = _integers(packed, weight.bits)
        terms = []
        for activation, integer in zip(activations, integers, strict=True):
            value = _centred(integer, zero[0] if zero else weight.zeros, dtype)
            terms.append(activation.cast(dtype) * (value * scale.cast(dtype)))
        return running + (terms[0] if each == 1 else terms[0] + terms[1])

    initial = b.fill([rows, weight.columns], dtype, 0)
    kinds: list[Iterator] = ["parallel", "parallel", "reduction", "reduction"]
    return b.generic([*factors, *inputs], [(initial, dtype, write)], kinds, body)[0]


def _integers(packed: Scalar, bits: int) -> list[Scalar]:
    """Return the integers in a byte, the low one first."""
    return [packed] if bits == 8 else [packed & 15, packed >> 4]


def _centred(integer: Scalar, zero: Scalar | Tensor | int, dtype: str) -> Scalar:
    """Return `integer - zero`, exactly where both are integers."""
    if isinstance(zero, Scalar) and zero.dtype not in ("uint8", "int8"):
        return integer.cast("int32").cast(dtype) - zero.cast(dtype)
    if isinstance(zero, Scalar):
        zero = zero.cast("int32")
    if isinstance(zero, Tensor):
        raise TypeError("a tensor of zero points is read as a scalar")
    wide = integer.cast("int32")
    return (wide if zero == 0 else wide - zero).cast(dtype)
