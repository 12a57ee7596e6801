# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations on constants, computed as a kernel would compute them.

Only operations whose result IEEE 754 or two's complement defines to the last bit are folded, and
none whose result is NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from xyntra.passes.recognize.egraph.constants import bits_of, is_float, number_of, width
from xyntra.passes.recognize.egraph.rules.vocabulary import CMPF, CMPI, OPERATIONS, TYPES
from xyntra.passes.recognize.egraph.terms import Node, opcode, type_of

__all__ = ["fold"]

Constant = tuple[int, int]


def fold(node: Node, operands: list[Constant]) -> Constant | None:
    """The constant that an operation on constants gives, or None."""
    letter = node[0]
    if letter == "S":
        return operands[1] if operands[0][1] else operands[2]
    if letter == "Q":
        truth = _compare(int(node[1]), *operands)
        return None if truth is None else (TYPES["i1"], int(truth))
    name = _NAMES[opcode(node)]
    if letter == "X":
        return _cast(name, operands[0], int(node[3]))
    type_ = type_of(node)
    bits = _float(name, operands) if is_float(type_) else _integer(name, operands)
    return None if bits is None else (type_, bits)


_NAMES = {operation.code: operation.name for operation in OPERATIONS.values()}


def _float(name: str, operands: list[Constant]) -> int | None:
    type_ = operands[0][0]
    if name in ("negf", "absf"):
        sign = 1 << (width(type_) - 1)
        bits = operands[0][1]
        return bits ^ sign if name == "negf" else bits & ~sign
    function = _FLOAT_FUNCTIONS.get(name)
    if function is None:
        return None
    # In double, then rounded: for these operations and narrower types that is one rounding.
    result = function(*(float(number_of(*operand)) for operand in operands))
    return None if math.isnan(result) else bits_of(type_, result)


def _divide(a: float, b: float) -> float:
    if b == 0:
        return (
            math.nan
            if a == 0 or math.isnan(a)
            else math.copysign(math.inf, a) * math.copysign(1, b)
        )
    return a / b


def _extreme(larger: bool) -> Callable[[float, float], float]:
    def pick(a: float, b: float) -> float:
        if math.isnan(a) or math.isnan(b):
            return math.nan
        if a == b:  # -0 is below +0
            return a if (math.copysign(1, a) > 0) == larger else b
        return a if (a > b) == larger else b

    return pick


_FLOAT_FUNCTIONS: dict[str, Callable[..., float]] = {
    "addf": lambda a, b: a + b,
    "subf": lambda a, b: a - b,
    "mulf": lambda a, b: a * b,
    "divf": _divide,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "maximumf": _extreme(larger=True),
    "minimumf": _extreme(larger=False),
}

_INTEGER_FUNCTIONS: dict[str, Callable[[int, int], int]] = {
    "addi": lambda a, b: a + b,
    "subi": lambda a, b: a - b,
    "muli": lambda a, b: a * b,
    "andi": lambda a, b: a & b,
    "ori": lambda a, b: a | b,
    "xori": lambda a, b: a ^ b,
    "maxui": max,
    "minui": min,
}
"""On unsigned values; the result wraps around."""

_SIGNED_FUNCTIONS: dict[str, Callable[[int, int], int]] = {"maxsi": max, "minsi": min}


def _integer(name: str, operands: list[Constant]) -> int | None:
    type_ = operands[0][0]
    if name in _INTEGER_FUNCTIONS and len(operands) == 2:
        return bits_of(type_, _INTEGER_FUNCTIONS[name](operands[0][1], operands[1][1]))
    if name in ("shli", "shrui") and operands[1][1] < width(type_):
        bits, amount = operands[0][1], operands[1][1]
        return bits_of(type_, bits << amount if name == "shli" else bits >> amount)
    # Signed operations on one bit would take `true` for -1.
    if name in _SIGNED_FUNCTIONS and width(type_) > 1:
        first, second = (int(number_of(*operand)) for operand in operands)
        return bits_of(type_, _SIGNED_FUNCTIONS[name](first, second))
    return None


_INTEGER_ORDERS: dict[str, Callable[[int, int], bool]] = {
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "lt": lambda a, b: a < b,
    "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b,
    "ge": lambda a, b: a >= b,
}
_FLOAT_PREDICATES = {code: name for name, code in CMPF.items()}
_INTEGER_PREDICATES = {code: name for name, code in CMPI.items()}


def _compare(predicate: int, a: Constant, b: Constant) -> bool | None:
    if predicate in _INTEGER_PREDICATES:
        name = _INTEGER_PREDICATES[predicate]
        if name in ("eq", "ne") or name[0] == "u":
            return _INTEGER_ORDERS[name.removeprefix("u")](a[1], b[1])
        if width(a[0]) == 1:
            return None
        return _INTEGER_ORDERS[name[1:]](int(number_of(*a)), int(number_of(*b)))
    name = _FLOAT_PREDICATES[predicate]
    if name in ("false", "true"):
        return name == "true"
    first, second = float(number_of(*a)), float(number_of(*b))
    unordered = math.isnan(first) or math.isnan(second)
    if name in ("ord", "uno"):
        return unordered == (name == "uno")
    if unordered:
        return name[0] == "u"
    return _INTEGER_ORDERS[name[1:]](first, second)  # type: ignore[arg-type]


def _cast(name: str, source: Constant, to: int) -> Constant | None:
    type_, bits = source
    if name in ("extf", "truncf"):
        value = float(number_of(type_, bits))
        direct = name == "extf" or {type_, to} == {TYPES["f64"], TYPES["f32"]}
        return (to, bits_of(to, value)) if direct and not math.isnan(value) else None
    if name in ("extui", "trunci"):
        return to, bits_of(to, bits)
    if width(type_) == 1 and name != "uitofp":
        return None
    if name == "extsi":
        return to, bits_of(to, int(number_of(type_, bits)))
    if name in ("sitofp", "uitofp") and to in (TYPES["f32"], TYPES["f64"]):
        return to, bits_of(to, bits if name == "uitofp" else number_of(type_, bits))
    return None
