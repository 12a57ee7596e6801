# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scales the weights of a contraction whose input is normalised only after it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects import FusedOp
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant, emit

__all__ = ["NormedColumns", "norm_weights"]

_WIDE = "float32"
_EXPONENT = 0x7F800000  # the bits of an f32 that are its exponent
_ONE_TWICE = 0x7F000000  # less the bits of a power of two: those of its reciprocal


@dataclass(frozen=True)
class NormedColumns:
    """Vectors of f32 for some columns of weights.

    Attributes:
        unit: powers of two that the columns were divided by; None where nothing was divided.
        sums: sums over the columns of the new weights, times `unit`; None where the norm subtracts
            no mean.
        shift: the norm's bias times the product's weights; None without bias.
    """

    unit: Tensor | None = None
    sums: Tensor | None = None
    shift: Tensor | None = None


def norm_weights(
    builder: TensorBuilder,
    weights: Tensor,
    axis: int,
    parts: Sequence[range],
    vectors: tuple[Tensor | None, Tensor | None],
    *,
    centred: bool,
) -> tuple[Tensor, list[NormedColumns]]:
    """Build one region, which runs once, when the model is loaded, for the weights of a product.

    Columns of f16 are divided by a power of two, so that the largest magnitude of each is from one
    to two: whatever weights are given, none overflows, and what small ones lose is far below the
    rounding of the largest.

    Args:
        builder: emits the region.
        weights: a matrix of f16 or bf16.
        axis: its dimension that is summed over.
        parts: the columns that are used together.
        vectors: scale and bias of the norm, `[sizes of axis]`; None for 1 and for 0.
        centred: whether the norm subtracts the mean.

    Returns:
        Weights of the same shape and dtype, and what goes with each part.
    """
    scale, bias = vectors
    names = ["unit"] if scale is not None and weights.dtype == "float16" else []
    names += ["sums"] if centred else []
    names += ["shift"] if bias is not None else []
    types = [weights.value.type] if scale is not None else []
    types += [builder.tensor_type([len(part)], _WIDE) for _ in names for part in parts]
    if not types:
        return weights, [NormedColumns() for _ in parts]
    with builder.location:
        fused = FusedOp.build(types, "generic", ip=builder.insertion_point)
        inner = TensorBuilder(ir.InsertionPoint(fused.block), builder.location)
        made = _make(inner, weights, axis, scale, bias)
        given = [made["weights"]] if scale is not None else []
        given += [_slice(inner, made[name], part) for name in names for part in parts]
        fused.finish([each.value for each in given])
    results = list(map(Tensor.of, fused.results))
    new = results.pop(0) if scale is not None else weights
    found = {name: results[i * len(parts) :] for i, name in enumerate(names)}
    return new, [
        NormedColumns(**{name: found[name][place] for name in names}) for place in range(len(parts))
    ]


def _slice(builder: TensorBuilder, vector: Tensor, part: range) -> Tensor:
    return builder.slice(vector, [part.start], [len(part)], [1])


def _make(
    builder: TensorBuilder, weights: Tensor, axis: int, scale: Tensor | None, bias: Tensor | None
) -> dict[str, Tensor]:
    """New weights, and vectors for all columns."""
    made = {"weights": weights}
    if scale is not None:
        scaled = _along(builder, weights, axis, scale)
        if weights.dtype == "float16":
            largest = builder.reduce(scaled, [axis], "max", keepdims=False, element=_magnitude)
            made["unit"] = builder.map(lambda x, *_: _power_of_two(x), largest, dtype=_WIDE)
        made["weights"] = _rounded(builder, scaled, axis, made.get("unit"), weights.dtype)
    sums = builder.reduce(made["weights"], [axis], "sum", keepdims=False, accumulator=_WIDE)
    if "unit" in made:
        sums = builder.map(lambda x, unit, *_: x * unit, sums, made["unit"], dtype=_WIDE)
    made["sums"] = sums
    if bias is not None:
        products = _along(builder, weights, axis, bias)
        made["shift"] = builder.reduce(products, [axis], "sum", keepdims=False)
    return made


def _along(builder: TensorBuilder, weights: Tensor, axis: int, vector: Tensor) -> Tensor:
    """`weights` times `vector`, which goes along `axis`, in f32."""
    with builder.location:
        read = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(axis)])
    return builder.generic(
        [(weights, builder.identity(2)), (vector, read)],
        [(builder.empty(weights.shape, _WIDE), _WIDE, builder.identity(2))],
        ["parallel", "parallel"],
        lambda x, y, _: x.cast(_WIDE) * y.cast(_WIDE),
    )[0]


def _rounded(
    builder: TensorBuilder, scaled: Tensor, axis: int, unit: Tensor | None, dtype: str
) -> Tensor:
    """`scaled` over the `unit` of its column, rounded to `dtype`."""
    with builder.location:
        read = ir.AffineMap.get(2, 0, [ir.AffineDimExpr.get(1 - axis)])
    inputs = [(scaled, builder.identity(2))]
    if unit is not None:
        inputs.append((unit, read))

    def body(x: Scalar, *rest: Scalar) -> Scalar:
        return (x * _reciprocal(rest[0]) if unit is not None else x).cast(dtype)

    output = (builder.empty(scaled.shape, dtype), dtype, builder.identity(2))
    return builder.generic(inputs, [output], ["parallel", "parallel"], body)[0]


def _magnitude(value: Scalar) -> Scalar:
    return value.absolute()


def _power_of_two(value: Scalar) -> Scalar:
    """The largest power of two that is at most `value`; 0, or infinite, as `value` is."""
    return _as_float(_as_bits(value) & constant(_EXPONENT, "int32"))


def _reciprocal(power: Scalar) -> Scalar:
    """1 over a power of two, of which no product of two f16 is outside the exponents for this."""
    return _as_float(constant(_ONE_TWICE, "int32") - _as_bits(power))


def _as_bits(value: Scalar) -> Scalar:
    return Scalar(emit("arith.bitcast", [value.value], ir.IntegerType.get_signless(32)), "int32")


def _as_float(bits: Scalar) -> Scalar:
    return Scalar(emit("arith.bitcast", [bits.value], ir.F32Type.get()), _WIDE)
