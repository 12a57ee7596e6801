# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records what samples say of the factors of products, and quantizes tensors by it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import FLOAT8_LARGEST, convert
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.precision.weighted_products import WeightedProduct

__all__ = [
    "QUANTIZATION",
    "TINY",
    "FactorRange",
    "integers_of",
    "narrowed",
    "note_quantization",
    "quantization_of",
    "rounded_rows",
    "through_steps",
    "weight_scale",
]

QUANTIZATION = "xyntra.quantization"
"""Module attribute: for each product of `main` with a weight, in order, [scale, zero, reason]."""

_LARGEST = {"int8": 127, "uint8": 255, **FLOAT8_LARGEST}
"""The number of each type of 8 bits that the largest magnitude becomes."""
TINY = 1e-30
"""Magnitude up to which weights count as 0: scales of f32 have to be normal numbers."""


class FactorRange(NamedTuple):
    """How the factor of a product that a call computes becomes integers of 8 bits.

    Attributes:
        scale: the distance between two integers; 0 where each row has its own, which a call finds
            from the largest magnitude in it. A row is what one sum reads.
        zero: the integer that stands for 0, of unsigned ones; -1 for signed ones around 0. With
            scales for rows, 0 for what is never negative, else -1.
        reason: why the product stays in f32; "" where it does not.
    """

    scale: float
    zero: int
    reason: str

    @property
    def by_rows(self) -> bool:
        """Whether each row has a scale of its own."""
        return self.scale == 0

    @property
    def of_rows(self) -> FactorRange:
        """The factor's range where each row has a scale of its own, computed in calls."""
        return FactorRange(0.0, min(self.zero, 0) if self.zero <= 0 else -1, self.reason)

    @property
    def dtype(self) -> str:
        """The type of the integers."""
        return "int8" if self.zero < 0 else "uint8"

    @property
    def point(self) -> int:
        """The integer that stands for 0."""
        return max(self.zero, 0)


def note_quantization(module: ir.Operation, ranges: Sequence[FactorRange]) -> None:
    """Set the attribute `QUANTIZATION` of `module`, unless there are none."""
    if not ranges:
        return
    with module.context, ir.Location.unknown(module.context):
        f32, i32 = ir.F32Type.get(), ir.IntegerType.get_signless(32)
        entries = []
        for each in ranges:
            scale, zero = ir.FloatAttr.get(f32, each.scale), ir.IntegerAttr.get(i32, each.zero)
            entries.append(ir.ArrayAttr.get([scale, zero, ir.StringAttr.get(each.reason)]))
        module.attributes[QUANTIZATION] = ir.ArrayAttr.get(entries)


def quantization_of(module: ir.Operation, count: int) -> list[FactorRange]:
    """Return what `note_quantization` has recorded for `count` products.

    Raises:
        PassFailure: it was for other products, or is no such thing.
    """
    attribute = module.attributes.get(QUANTIZATION, None)
    entries = [_range(each) for each in attribute] if isinstance(attribute, ir.ArrayAttr) else []
    found = [each for each in entries if each is not None]
    if len(found) != count or len(entries) != count:
        raise PassFailure.at(module, f"has {count} products, and ranges of {len(found)} factors")
    return found


def _range(entry: ir.Attribute) -> FactorRange | None:
    parts = list(entry) if isinstance(entry, ir.ArrayAttr) else []
    kinds = (ir.FloatAttr, ir.IntegerAttr, ir.StringAttr)
    if len(parts) != 3 or not all(map(isinstance, parts, kinds)):
        return None
    scale, zero, reason = (part.value for part in parts)
    is_row = scale == 0 and -1 <= zero <= 0
    if not reason and not is_row and not (0 < scale < float("inf") and -1 <= zero <= 255):
        return None
    return FactorRange(scale, zero, reason)


def weight_scale(
    b: TensorBuilder, weight: Tensor, channels: Sequence[int], dtype: str = "int8"
) -> Tensor:
    """Return the scales of a weight, one for each element of `channels`; others have one element.

    The largest magnitude becomes the largest number of `dtype`; channels of nothing but zeros have
    the scale 1.
    """
    axes = [dim for dim in range(weight.rank) if dim not in channels]
    largest = _LARGEST[dtype]
    peak = _peak(b, weight, axes)
    return b.map(lambda x: (x > TINY).select(x / largest, x + 1), peak, dtype="float32")


def _peak(b: TensorBuilder, tensor: Tensor, axes: Sequence[int]) -> Tensor:
    """Return the largest magnitude along `axes`, in f32."""
    return b.reduce(
        tensor, axes, "max", accumulator="float32", element=lambda value: value.math("absf")
    )


def narrowed(value: Scalar, dtype: str) -> Scalar:
    """Return a number, divided by its scale, in a type of 8 bits; what is too large is limited."""
    if dtype in FLOAT8_LARGEST:
        return convert(value, dtype)
    return value.math("roundeven").saturate(dtype)


def integers_of(value: Scalar, scale: Scalar) -> Scalar:
    """Return the signed integer of 8 bits that is nearest to a value of a weight."""
    return narrowed(value / scale, "int8")


def rounded_rows(
    b: TensorBuilder, tensor: Tensor, axes: Sequence[int], dtype: str = "int8"
) -> tuple[Tensor, Tensor]:
    """Return numbers of 8 bits, and the scale of each row: a row is what lies along `axes`.

    The largest magnitude of a row becomes the largest number. Where that is not finite, neither
    is the scale.
    """
    largest = _LARGEST[dtype]
    peak = _peak(b, tensor, axes)
    scale = b.map(lambda x: (x <= TINY).select(x * 0 + 1, x / largest), peak, dtype="float32")
    # One division for a row, and not one for each of its elements.
    inverse = b.map(
        lambda x: (x <= TINY).select(x * 0 + 1, constant(float(largest), "float32") / x),
        peak,
        dtype="float32",
    )
    numbers = b.map(
        lambda x, each: narrowed(x.cast("float32") * each, dtype), tensor, inverse, dtype=dtype
    )
    return numbers, scale


def through_steps(
    b: TensorBuilder, product: WeightedProduct, first: ir.Value, place: ir.Operation
) -> ir.Value:
    """Return `first` after the reshapes and paddings that the factor of `product` has behind it."""
    value = first
    for step in product.steps:
        with b.insertion_point:
            clone = step.clone().operation
        clone.operands[0] = value
        clone.move_before(place)
        value = clone.results[0]
    return value
