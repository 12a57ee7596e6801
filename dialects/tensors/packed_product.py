# SPDX-License-Identifier: MIT OR Apache-2.0
"""Builds products with weights of 4 or 8 bits, which are dequantized inside of the product."""

from __future__ import annotations

from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar

__all__ = ["ROUNDS_ROWS", "PackedWeight", "packed_contraction", "packed_product", "unpacked_weight"]

ROUNDS_ROWS = "xyntra.rounds_rows"
"""Attribute of a product: the model allows its rows to be rounded to 8 bits."""


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
    _, blocks, size = weight.integers.shape
    each = 8 // weight.bits
    a = b.pad(a, [0, 0], [0, weight.padded_steps - weight.steps], 0)
    shape = [a.shape[0], blocks, size, each] if each > 1 else [a.shape[0], blocks, size]
    return packed_contraction(b, b.reshape(a, shape), weight, dtype)


def packed_contraction(b: TensorBuilder, a: Tensor, weight: PackedWeight, dtype: str) -> Tensor:
    """Return the same of `a` [M, blocks, bytes of a block], with integers of a byte behind."""
    each = 8 // weight.bits
    with b.location:
        m, n, block, byte = (ir.AffineDimExpr.get(i) for i in range(4))

        def read(*places: ir.AffineExpr) -> ir.AffineMap:
            return ir.AffineMap.get(4, 0, places)

        numbers = [[ir.AffineConstantExpr.get(i)] if each > 1 else [] for i in range(each)]
        factors = [(a, read(m, block, byte, *number)) for number in numbers]
        inputs = [(weight.integers, read(n, block, byte)), (weight.scales, read(n, block))]
        if isinstance(weight.zeros, Tensor):
            inputs.append((weight.zeros, read(n, block)))
        write = read(m, n)

    def body(*scalars: Scalar) -> Scalar:
        *arguments, running = scalars
        activations, (packed, scale, *zero) = arguments[:each], arguments[each:]
        values = dequantized(packed, scale, zero[0] if zero else weight.zeros, weight.bits, dtype)
        terms = [x.cast(dtype) * value for x, value in zip(activations, values, strict=True)]
        return running + (terms[0] if each == 1 else terms[0] + terms[1])

    initial = b.fill([a.shape[0], weight.columns], dtype, 0)
    kinds: list[Iterator] = ["parallel", "parallel", "reduction", "reduction"]
    return b.generic([*factors, *inputs], [(initial, dtype, write)], kinds, body)[0]


def unpacked_weight(b: TensorBuilder, weight: PackedWeight, dtype: str) -> Tensor:
    """Return the weight [N, padded K] in `dtype`, computed in f32."""
    each = 8 // weight.bits
    shape = [*weight.integers.shape, each]
    with b.location:
        n, block, byte = (ir.AffineDimExpr.get(i) for i in range(3))
        inputs = [
            (weight.integers, ir.AffineMap.get(4, 0, [n, block, byte])),
            (weight.scales, ir.AffineMap.get(4, 0, [n, block])),
        ]
        if isinstance(weight.zeros, Tensor):
            inputs.append((weight.zeros, ir.AffineMap.get(4, 0, [n, block])))

    def body(packed: Scalar, scale: Scalar, *rest: Scalar) -> Scalar:
        zero = weight.zeros if len(rest) == 1 else rest[0]
        values = dequantized(packed, scale, zero, weight.bits, "float32")
        if each == 1:
            return values[0].cast(dtype)
        is_low = b.index(3).cast("int32").equals(0)
        return is_low.select(*values).cast(dtype)

    output = (b.empty(shape, dtype), dtype, b.identity(4))
    result = b.generic(inputs, [output], ["parallel"] * 4, body)[0]
    return b.reshape(result, [weight.columns, weight.padded_steps])


def dequantized(
    packed: Scalar, scale: Scalar, zero: Scalar | Tensor | int, bits: int, dtype: str
) -> list[Scalar]:
    """Return the values of the integers in a byte, the low one first."""
    if isinstance(zero, Tensor):
        raise TypeError("a tensor of zero points is read as a scalar")
    factor = scale.cast(dtype)
    is_float_point = isinstance(zero, Scalar) and is_float(zero.dtype)
    if isinstance(zero, Scalar):
        zero = zero.cast(dtype if is_float_point else "int32")
    values = []
    for integer in [packed] if bits == 8 else [packed & 15, packed >> 4]:
        wide = integer.cast("int32")
        # The difference of integers is exact.
        value = wide.cast(dtype) - zero if is_float_point else (wide - zero).cast(dtype)
        values.append(value * factor)
    return values
