# SPDX-License-Identifier: MIT OR Apache-2.0
"""fpowi, a float to an integer power, and ipowi, an integer to one."""

from __future__ import annotations

from torch_mlir.dialects import arith, math

from xyntra.dialects.mlir import ir
from xyntra.passes.math.constants import constant_int, integer
from xyntra.passes.math.double_float import fast_two_sum
from xyntra.passes.math.power import magnitude_of_power
from xyntra.passes.math.simple_power import simple_power
from xyntra.passes.math.values import Builder, Float, Int

__all__ = ["exponent_operand", "fpowi", "fpowi_of_f64", "ipowi"]

# Even, so that setting the lowest bit of a clamped exponent keeps its parity.
_LARGEST_EXPONENT = 2**31 - 2


def fpowi(x: Float, exponent: Int) -> Float:
    """Return x**exponent; x**0 is 1 even for NaN, and signs follow from an odd exponent."""
    constant = constant_int(exponent.value)
    if constant is not None and (simple := simple_power(x, float(constant))) is not None:
        return simple
    magnitude = abs(x)
    # 24 and 8 bits, each exact in f32.
    exact = fast_two_sum((exponent & ~0xFF).to_float(), (exponent & 0xFF).to_float())
    result = magnitude_of_power(magnitude, exact)
    result = magnitude.equals(1.0).select(1.0, result)
    is_negative = (x.bits() < 0) & (exponent & 1).equals(1)
    result = is_negative.select(-result, result)
    result = x.unordered_with(x).select(x, result)
    return exponent.equals(0).select(1.0, result)


def exponent_operand(build: Builder, exponent: ir.Value) -> Int:
    """Return an integer of any width as i32, clamped to its range with its parity kept.

    No f32 but -1, 0 and 1 has a finite power other than 0 beyond that range, so that a power of the
    clamped exponent is the power of the exponent.
    """
    constant = constant_int(exponent)
    if constant is not None:
        clamped = min(max(constant, -_LARGEST_EXPONENT), _LARGEST_EXPONENT)
        return build.int(clamped | (constant & 1))
    width = _width(exponent.type)
    if width < 32:
        return Int(build, arith.extsi(build.int_type, exponent))
    if width == 32:
        return Int(build, exponent)
    return Int(build, arith.trunci(build.int_type, _clamped(exponent)))


def _clamped(exponent: ir.Value) -> ir.Value:
    parity = arith.andi(exponent, integer(exponent.type, 1))
    clamped = arith.minsi(exponent, integer(exponent.type, _LARGEST_EXPONENT))
    clamped = arith.maxsi(clamped, integer(exponent.type, -_LARGEST_EXPONENT))
    return arith.ori(clamped, parity)


def fpowi_of_f64(op: ir.Operation) -> ir.Value:
    """Return base**exponent of an f64 by `math.powf`, for libm: LLVM's powi needs a library.

    An exponent of more than 53 bits is rounded, but keeps its effect on the sign.
    """
    base, exponent = op.operands
    zero, one = integer(exponent.type, 0), integer(exponent.type, 1)
    result = math.powf(math.absf(base), arith.sitofp(base.type, exponent))
    is_odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(exponent, one), zero)
    return arith.select(is_odd, math.copysign(result, base), result)


def ipowi(op: ir.Operation) -> ir.Value:
    """Return base**exponent modulo 2**width, the exponent being signed.

    A negative power is the truncated quotient 1 / base**|exponent|; of 0 it is 0.
    """
    base, exponent = op.operands
    constant = constant_int(exponent)
    if constant is not None and constant >= 0:
        return _by_constant(base, constant)
    return _by_variable(base, exponent)


def _by_constant(base: ir.Value, exponent: int) -> ir.Value:
    result, square = integer(base.type, 1), base
    while exponent:
        if exponent & 1:
            result = arith.muli(result, square)
        exponent >>= 1
        if exponent:
            square = arith.muli(square, square)
    return result


def _by_variable(base: ir.Value, exponent: ir.Value) -> ir.Value:
    zero, one = integer(base.type, 0), integer(base.type, 1)
    result, square = one, base
    for bit in range(_width(base.type) - 1):
        chosen = arith.andi(exponent, integer(base.type, 1 << bit))
        is_set = arith.cmpi(arith.CmpIPredicate.ne, chosen, zero)
        result = arith.select(is_set, arith.muli(result, square), result)
        square = arith.muli(square, square)
    return arith.select(_is_negative(exponent, zero), _inverse(base, exponent), result)


def _inverse(base: ir.Value, exponent: ir.Value) -> ir.Value:
    """Return base**exponent for a negative exponent: 1, -1 or 0."""
    zero, one = integer(base.type, 0), integer(base.type, 1)
    minus_one = integer(base.type, -1)
    is_odd = arith.cmpi(arith.CmpIPredicate.ne, arith.andi(exponent, one), zero)
    alternating = arith.select(is_odd, minus_one, one)
    is_minus_one = arith.cmpi(arith.CmpIPredicate.eq, base, minus_one)
    is_one = arith.cmpi(arith.CmpIPredicate.eq, base, one)
    return arith.select(is_one, one, arith.select(is_minus_one, alternating, zero))


def _is_negative(value: ir.Value, zero: ir.Value) -> ir.Value:
    return arith.cmpi(arith.CmpIPredicate.slt, value, zero)


def _width(type_: ir.Type) -> int:
    element = type_.element_type if isinstance(type_, ir.VectorType) else type_
    return int(ir.IntegerType(element).width)
