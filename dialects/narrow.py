# SPDX-License-Identifier: MIT OR Apache-2.0
"""Converts elements of a byte and less, which no arithmetic is done in: float8, float4, int4, int2.

A tensor of such a dtype holds one element a byte, as numpy's arrays of ml_dtypes do, in the low
bits; what is in the others means nothing. Conversions round once, to nearest with halves to even,
and look up nothing. Those of the two float8 that processors know, e4m3fn and e5m2, are MLIR's
`arith.extf` and `arith.truncf` of its own types, which `expand-float8` makes bit operations of
where there is no instruction; the others are bit operations from the start.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from torch_mlir import ir

from xyntra.dialects.dtypes import NARROW_TYPES, bit_width, is_unsigned, mlir_type
from xyntra.dialects.scalar import Scalar, constant, emit

__all__ = ["FLOAT8_LARGEST", "FLOAT8_TYPES", "RoundMode", "convert", "decoded", "encoded"]

RoundMode = Literal["up", "down", "nearest"]
"""Rounding of exponents, for float8_e8m0fnu alone."""
_EXPONENTS_ONLY = "float8_e8m0fnu"
FLOAT8_TYPES = {"float8_e4m3fn": "f8E4M3FN", "float8_e5m2": "f8E5M2"}
"""MLIR's types of the float8 that processors multiply; tensors hold their bits as i8."""
FLOAT8_LARGEST = {"float8_e4m3fn": 448.0, "float8_e5m2": 57344.0}
"""Their largest finite numbers."""


@dataclass(frozen=True)
class _Format:
    """A float of 1 sign bit, exponent and mantissa.

    Attributes:
        mantissa: bits of it.
        bias: of the exponent.
        largest: bits of the largest finite number.
        infinity: bits of infinity; None without any: what overflows is NaN.
        nan: bits of NaN; None without any.
        has_negative_zero: whether the sign of zero and NaN is kept.
    """

    mantissa: int
    bias: int
    largest: int
    infinity: int | None
    nan: int | None
    has_negative_zero: bool = True


_FORMATS = {
    "float8_e4m3fn": _Format(3, 7, 0x7E, None, 0x7F),
    "float8_e4m3fnuz": _Format(3, 8, 0x7F, None, 0x80, has_negative_zero=False),
    "float8_e5m2": _Format(2, 15, 0x7B, 0x7C, 0x7E),
    "float8_e5m2fnuz": _Format(2, 16, 0x7F, None, 0x80, has_negative_zero=False),
    "float4_e2m1fn": _Format(1, 1, 0x7, None, None),
}
_WIDE = {"float32": (23, 127), "float64": (52, 1023)}
"""Bits of the mantissa and bias of the floats that others are computed in."""


def convert(
    value: Scalar, dtype: str, *, saturate: bool = True, round_mode: RoundMode = "up"
) -> Scalar:
    """Convert to `dtype`, as `Scalar.cast`, where either type may be narrow.

    Args:
        value: what to convert.
        dtype: to which type.
        saturate: whether what is too large for a float8 becomes its largest finite number, instead
            of infinity, or NaN where there is none. Those without NaN saturate in any case.
        round_mode: for float8_e8m0fnu.
    """
    if value.dtype in NARROW_TYPES:
        value = _widened(value)
    if dtype in ("float8_e8m0fnu", *_FORMATS):
        wide = value if value.dtype in _WIDE else value.cast("float32")
        if dtype == _EXPONENTS_ONLY:
            return _exponent_of(wide.cast("float32"), saturate, round_mode)
        if dtype in FLOAT8_TYPES:
            return _truncated(wide, dtype, saturate)
        return encoded(wide, dtype, saturate=saturate)
    if dtype in NARROW_TYPES:
        bits = (1 << NARROW_TYPES[dtype]) - 1
        low = value.cast("int32").cast("uint8") & bits
        return Scalar(low.value, dtype)
    return value.cast(dtype)


def _widened(value: Scalar) -> Scalar:
    """A narrow value as float32 or int8, exactly."""
    code = Scalar(value.value, "uint8")
    if value.dtype in FLOAT8_TYPES:
        bits = emit("arith.bitcast", [value.value], ir.Type.parse(FLOAT8_TYPES[value.dtype]))
        return Scalar(emit("arith.extf", [bits], ir.F32Type.get()), "float32")
    if value.dtype in _FORMATS:
        return decoded(value)
    if value.dtype == _EXPONENTS_ONLY:
        return _power(code.cast("uint32"))
    unused = 8 - NARROW_TYPES[value.dtype]
    high = code << unused
    return high >> unused if is_unsigned(value.dtype) else high.cast("int8") >> unused


def _truncated(wide: Scalar, dtype: str, saturate: bool) -> Scalar:
    """A float32 or float64 as one of `FLOAT8_TYPES`; by itself, truncf limits nothing."""
    limit = FLOAT8_LARGEST[dtype]
    if saturate:  # NaN stays NaN
        wide = wide.maximum(-limit).minimum(limit)
    found = emit("arith.truncf", [wide.value], ir.Type.parse(FLOAT8_TYPES[dtype]))
    return Scalar(emit("arith.bitcast", [found], ir.IntegerType.get_signless(8)), dtype)


def decoded(value: Scalar) -> Scalar:
    """The float32 that a float8 or float4 stands for, by operations on its bits."""
    code = Scalar(value.value, "uint8").cast("uint32")
    return _decoded(code, _FORMATS[value.dtype], NARROW_TYPES[value.dtype])


def _power(code: Scalar) -> Scalar:
    """2^(code - 127) as float32; NaN for 255."""
    number = code.equals(0).select(constant(1 << 22, "uint32"), code << 23)
    return code.equals(255).select(constant(float("nan"), "float32"), _bits_as(number, "float32"))


def _exponent_of(value: Scalar, saturate: bool, round_mode: RoundMode) -> Scalar:
    """The exponent of a float32, whose sign does not count, rounded by its mantissa."""
    bits = _bits_as(value, "uint32")
    exponent = (bits >> 23) & 0xFF
    fraction = bits & 0x7FFFFF
    if round_mode == "up":
        rounds = fraction.differs(0)
    elif round_mode == "nearest":
        half = 1 << 22
        rounds = (fraction > half) | (fraction.equals(half) & exponent.differs(0))
    else:
        rounds = constant(False, "bool")
    if saturate:
        rounds = rounds & exponent.differs(0xFE)
    rounded = exponent + rounds.cast("uint32")
    code = exponent.equals(0xFF).select(exponent, rounded).cast("uint8")
    return Scalar(code.value, _EXPONENTS_ONLY)


def _decoded(code: Scalar, format_: _Format, bits: int) -> Scalar:
    """The float32 that the low `bits` of a uint32 stand for."""
    sign = 1 << (bits - 1)
    magnitude = code & (sign - 1)
    shift = 23 - format_.mantissa
    normal = (magnitude << shift) + ((127 - format_.bias) << 23)
    step = 2.0 ** (1 - format_.bias - format_.mantissa)
    small = magnitude < (1 << format_.mantissa)
    found = small.select(magnitude.cast("float32") * step, _bits_as(normal, "float32"))
    nan = constant(float("nan"), "float32")
    if format_.infinity is not None:
        infinite = magnitude.equals(format_.infinity)
        found = infinite.select(constant(float("inf"), "float32"), found)
        found = (magnitude > format_.infinity).select(nan, found)
    is_negative = (code & sign).differs(0)
    found = is_negative.select(-found, found)
    if format_.nan is None or format_.infinity is not None:
        return found
    kept = magnitude if format_.has_negative_zero else code & 0xFF
    return kept.equals(format_.nan).select(nan, found)


def encoded(value: Scalar, dtype: str, *, saturate: bool) -> Scalar:
    """The narrow float that is nearest to a float32 or float64, by operations on its bits.

    Args:
        value: what to convert.
        dtype: a float8 or float4.
        saturate: as for `convert`.
    """
    format_, mantissa, bias = _FORMATS[dtype], *_WIDE[value.dtype]
    word = f"uint{bit_width(value.dtype)}"
    sign = NARROW_TYPES[dtype] - 1
    bits = _bits_as(value, word)
    negative = bits >> (bit_width(value.dtype) - 1)
    magnitude = bits & ((1 << (bit_width(value.dtype) - 1)) - 1)
    infinity = ((1 << (bit_width(value.dtype) - 1 - mantissa)) - 1) << mantissa
    code = _magnitude(value.absolute(), magnitude, format_, mantissa, bias)
    too_large = code > format_.largest
    is_nan = magnitude > infinity
    if saturate or format_.nan is None:
        code = too_large.select(constant(format_.largest, word), code)
    else:
        over = format_.nan if format_.infinity is None else format_.infinity
        code = too_large.select(constant(over, word), code)
    if format_.nan is None:  # ml_dtypes makes NaN the zero of the other sign
        negative, code = is_nan.select(negative ^ 1, negative), is_nan.select(code & 0, code)
    else:
        code = is_nan.select(constant(format_.nan, word), code)
    if not format_.has_negative_zero:
        negative = code.equals(0).select(negative & 0, negative)
    found = (code | (negative << sign)).cast("uint8")
    return Scalar(found.value, dtype)


def _magnitude(value: Scalar, bits: Scalar, format_: _Format, mantissa: int, bias: int) -> Scalar:
    """The rounded code of a non-negative number, which may be beyond the largest.

    Args:
        value: the number.
        bits: its bits.
        format_: of the result.
        mantissa: bits of the number's mantissa.
        bias: of its exponent.
    """
    shift = mantissa - format_.mantissa
    odd = (bits >> shift) & 1
    rebias = (bias - format_.bias) << format_.mantissa
    normal = ((bits + odd + ((1 << (shift - 1)) - 1)) >> shift) - rebias
    # The sum with this number has the smallest step of the format as its last bit.
    anchor = constant(2.0 ** (1 - format_.bias + shift), value.dtype)
    small = _bits_as(value + anchor, bits.dtype) - _bits_as(anchor, bits.dtype)
    is_small = bits < ((1 - format_.bias + bias) << mantissa)
    return is_small.select(small, normal)


def _bits_as(value: Scalar, dtype: str) -> Scalar:
    return Scalar(emit("arith.bitcast", [value.value], mlir_type(dtype, ir.Context.current)), dtype)
