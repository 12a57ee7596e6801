# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scalar constants as bit patterns, what rules may know of them, and exact arithmetic on them.

A constant is a type's number and its bits as an unsigned integer, so that the two zeros and all
NaNs stay apart.
"""

from __future__ import annotations

import math
import struct
from functools import cache

from xyntra.passes.recognize.egraph.rules.vocabulary import FLOATS, TYPE_NAMES, TYPES

__all__ = [
    "LITERALS",
    "NEAR",
    "bits_of",
    "facts_of",
    "is_float",
    "literal_bits",
    "number_of",
    "width",
]

Fact = tuple[str, tuple[int, ...]]

_WIDTHS = {0: 16, 1: 16, 2: 32, 3: 64, 4: 1, 5: 8, 6: 16, 7: 32, 8: 64}
_MANTISSAS = {0: 11, 1: 8, 2: 24, 3: 53}
_EXPONENTS = {0: 16, 1: 128, 2: 128, 3: 1024}
"""The least e with every finite number below 2**e."""

LITERALS = ("0", "-0", "1", "-1", "2", "3", "0.5", "true", "false")
"""Numbers that rules may write; each gets the bits of the type that it is used in."""

NEAR = ("sqrt-half", "sqrt-two", "gelu-cubic", "gelu-scale")
"""Constants that rules find by value, within four units in the last place."""

_NEAR_VALUES = (math.sqrt(0.5), math.sqrt(2.0), 0.044715, math.sqrt(2.0 / math.pi))


def is_float(type_: int) -> bool:
    """Tell whether a type's number is that of a floating-point type."""
    return type_ < len(FLOATS)


def width(type_: int) -> int:
    """Bits of a type."""
    return _WIDTHS[type_]


def mantissa(type_: int) -> int:
    """Bits of a floating-point type's significand, the implied one included."""
    return _MANTISSAS[type_]


def number_of(type_: int, bits: int) -> float | int:
    """The value; integers as signed, booleans as 0 or 1."""
    size = _WIDTHS[type_]
    if not is_float(type_):
        return bits - (1 << size) if size > 1 and bits >> (size - 1) else bits
    if type_ == FLOATS["bf16"]:
        bits, size = bits << 16, 32
    value: float = struct.unpack(_FORMATS[size], bits.to_bytes(size // 8, "little"))[0]
    return value


_FORMATS = {16: "<e", 32: "<f", 64: "<d"}


def bits_of(type_: int, value: float) -> int:
    """Bits of a number in a type: floats are rounded to nearest even, integers wrap around.

    A NaN becomes the quiet NaN without a payload.
    """
    size = _WIDTHS[type_]
    if not is_float(type_):
        return int(value) & ((1 << size) - 1)
    rounded = _rounded(type_, value)
    if type_ == FLOATS["bf16"]:
        return int.from_bytes(struct.pack("<f", rounded), "little") >> 16
    return int.from_bytes(struct.pack(_FORMATS[size], rounded), "little")


def _rounded(type_: int, value: float) -> float:
    """The nearest number of a type; integers are rounded once, whatever their size."""
    if isinstance(value, float) and (value == 0 or not math.isfinite(value)):
        return value
    if isinstance(value, int) and value.bit_length() > 53:
        value = _cut(value, _MANTISSAS[type_])
    fraction, exponent = math.frexp(value)
    # Below the normal numbers the last bit stays where it is.
    last = max(exponent, 3 - _EXPONENTS[type_]) - _MANTISSAS[type_]
    if _MANTISSAS[type_] == _MANTISSAS[FLOATS["f64"]]:
        return float(value)
    # `round` takes ties to even.
    nearest = math.ldexp(round(math.ldexp(fraction, exponent - last)), last)
    if math.frexp(nearest)[1] > _EXPONENTS[type_]:
        return math.copysign(math.inf, value)
    return math.copysign(nearest, value)


def _cut(value: int, bits: int) -> int:
    """An integer rounded to `bits` significant bits, ties to even."""
    extra = value.bit_length() - bits
    if extra <= 0:
        return value
    magnitude = abs(value)
    high, low = magnitude >> extra, magnitude & ((1 << extra) - 1)
    half = 1 << (extra - 1)
    high += low > half or (low == half and high & 1)
    return int(math.copysign(1, value)) * (high << extra)


@cache
def literal_bits(type_: int, literal: str) -> int | None:
    """Bits of a rule's literal in a type; None where the type has no such number."""
    if literal in ("true", "false"):
        return int(literal == "true") if type_ == TYPES["i1"] else None
    if is_float(type_):
        return bits_of(type_, float(literal))
    return bits_of(type_, int(literal)) if literal in ("0", "1", "2", "3", "-1") else None


@cache
def facts_of(type_: int, bits: int) -> tuple[Fact, ...]:
    """Return what rules may ask of a constant: relations by name, with their arguments."""
    if is_float(type_):
        return tuple(_float_facts(type_, bits))
    return tuple(_integer_facts(type_, bits))


def _float_facts(type_: int, bits: int) -> list[Fact]:
    value = float(number_of(type_, bits))
    found: list[Fact] = []
    if math.isnan(value):
        return found
    found.append(("negated", (type_, bits, bits_of(type_, -value))))
    if math.copysign(1.0, value) > 0:
        found.append(("nonnegative", (type_, bits)))
    if value == 0 or math.isinf(value):
        return found
    found.append(("nonzero", (type_, bits)))
    limit = _EXPONENTS[type_] - 2
    if abs(math.frexp(value)[1]) < limit // 4:
        found.append(("moderate", (type_, bits)))
    if abs(math.frexp(value)[1]) < limit - 1:
        exact = "reciprocal" if abs(math.frexp(value)[0]) == 0.5 else "inverse"
        found.append((exact, (type_, bits, bits_of(type_, 1.0 / value))))
    ulp = 2.0 ** (1 - _MANTISSAS[type_])
    for code, wanted in enumerate(_NEAR_VALUES):
        if abs(value - wanted) <= 4 * ulp * wanted:
            found.append(("near", (type_, bits, code)))
    return found


def _integer_facts(type_: int, bits: int) -> list[Fact]:
    found: list[Fact] = [("negated", (type_, bits, bits_of(type_, -bits)))]
    if TYPE_NAMES[type_] != "i1" and bits > 1 and bits & (bits - 1) == 0:
        found.append(("power", (type_, bits, bits.bit_length() - 1, bits - 1)))
    return found
