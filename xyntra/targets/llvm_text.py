# SPDX-License-Identifier: MIT OR Apache-2.0
"""LLVM IR as text between two versions of LLVM: MLIR's (24) prints it, llvmlite's (22) reads it.

Two things differ. LLVM 24 prints floating-point constants as the shortest decimal of their own
type, or as `f0x…`, `+inf`, `+qnan`, `+nan(0x…)`, `+snan(0x…)`; LLVM 22 reads decimals as doubles
and knows none of the other forms, so every constant becomes its exact bits in LLVM 22's notation
(LangRef, "Simple Constants"). And declarations of intrinsics carry attributes that LLVM 22 does not
know; it declares the intrinsics that it meets by itself, so those lines go.
"""

from __future__ import annotations

import re
from fractions import Fraction
from functools import lru_cache
from typing import NamedTuple


class _Format(NamedTuple):
    """An IEEE 754 binary format: bits in all, bits of the stored significand."""

    width: int
    fraction: int

    @property
    def exponent_mask(self) -> int:
        return (1 << (self.width - 1 - self.fraction)) - 1

    @property
    def bias(self) -> int:
        return self.exponent_mask >> 1


_FORMATS = {
    "half": _Format(16, 10),
    "bfloat": _Format(16, 7),
    "float": _Format(32, 23),
    "double": _Format(64, 52),
}
_INTRINSIC_DECLARATION = re.compile(r"^declare [^\n]*@llvm\.[^\n]*\n", re.MULTILINE)
_MAYBE_CONSTANT = re.compile(r"\.\d|f0x|[+-](?:inf|[qs]?nan)")
# Strings, comments and names come first, so that what looks like a constant inside them is skipped.
_TOKEN = re.compile(
    r"""
      "[^"]*" | ;.*
    | [%@!$\#][-\w.$]+
    | (?P<type>\b(?:half|bfloat|float|double)\b)
    | (?<![\w.$])(?P<constant>
          f0x[0-9A-Fa-f]+
        | [+-](?:inf|qnan|s?nan\(0x[0-9A-Fa-f]+\))
        | [+-]?\d+\.\d*(?:[eE][+-]?\d+)?
      )
    """,
    re.VERBOSE,
)


def to_llvm22(text: str) -> str:
    """Return LLVM 24's `text` in a form that LLVM 22 reads as the same module."""
    text = _INTRINSIC_DECLARATION.sub("", text)
    pieces = []
    done = 0
    for match in _MAYBE_CONSTANT.finditer(text):
        if match.start() < done:
            continue
        start = text.rfind("\n", 0, match.start()) + 1
        end = text.find("\n", match.end())
        end = len(text) if end < 0 else end
        pieces += [text[done:start], _rewrite_line(text[start:end])]
        done = end
    return "".join([*pieces, text[done:]])


def constant_bits(kind: str, literal: str) -> int:
    """Return the bits of a constant as LLVM 24 prints it.

    Args:
        kind: the LLVM type: half, bfloat, float or double.
        literal: a decimal, rounded to nearest even, or one of the special forms.
    """
    shape = _FORMATS[kind]
    if literal.startswith("f0x"):
        return int(literal[3:], 16)
    negative = literal.startswith("-")
    magnitude = literal.lstrip("+-")
    if magnitude[0].isdigit():
        bits = _decimal_bits(shape, Fraction(magnitude))
    else:
        bits = _special_bits(shape, magnitude)
    return bits | (int(negative) << (shape.width - 1))


def _rewrite_line(line: str) -> str:
    kind: str | None = None

    def rewrite(match: re.Match[str]) -> str:
        nonlocal kind
        if match["type"]:
            kind = match["type"]
        if match["constant"] and kind:
            return _llvm22_constant(kind, match["constant"])
        return match[0]

    return _TOKEN.sub(rewrite, line)


@lru_cache(maxsize=4096)
def _llvm22_constant(kind: str, literal: str) -> str:
    bits = constant_bits(kind, literal)
    if kind == "half":
        return f"0xH{bits:04X}"
    if kind == "bfloat":
        return f"0xR{bits:04X}"
    return f"0x{_widened(bits) if kind == 'float' else bits:016X}"


def _decimal_bits(shape: _Format, value: Fraction) -> int:
    if value == 0:
        return 0
    smallest = 1 - shape.bias
    exponent = max(_floor_log2(value), smallest)
    significand = round(value * Fraction(2) ** (shape.fraction - exponent))
    # Adding, not or-ing: a significand that rounded up carries into the exponent, which is right.
    bits = ((exponent - smallest) << shape.fraction) + significand
    return min(bits, shape.exponent_mask << shape.fraction)


def _floor_log2(value: Fraction) -> int:
    guess = value.numerator.bit_length() - value.denominator.bit_length()
    return guess if Fraction(2) ** guess <= value else guess - 1


def _special_bits(shape: _Format, magnitude: str) -> int:
    bits = shape.exponent_mask << shape.fraction
    quiet = 1 << (shape.fraction - 1)
    if magnitude == "inf":
        return bits
    if magnitude == "qnan":
        return bits | quiet
    payload = int(magnitude[magnitude.index("(") + 1 : -1], 16)
    return bits | payload | (quiet if magnitude.startswith("nan") else 0)


def _widened(bits: int) -> int:
    """Return the double that LLVM 22 writes for the float `bits`, keeping a NaN's payload."""
    single, double = _FORMATS["float"], _FORMATS["double"]
    sign, rest = bits >> 31, bits & 0x7FFFFFFF
    exponent, fraction = rest >> single.fraction, rest & 0x7FFFFF
    shift = double.fraction - single.fraction
    if exponent == single.exponent_mask:
        wide = (double.exponent_mask << double.fraction) | (fraction << shift)
    elif exponent:
        wide = ((exponent + double.bias - single.bias) << double.fraction) | (fraction << shift)
    else:
        wide = _decimal_bits(double, Fraction(fraction, 1 << (single.bias + single.fraction - 1)))
    return (sign << 63) | wide
