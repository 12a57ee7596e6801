# SPDX-License-Identifier: MIT OR Apache-2.0
"""Integer operations with a value for every operand; each function rewrites one operation.

A function returns the value to use instead of the result of `op`, or that result itself where a
constant operand already excludes the corner case. Selects rather than branches, so that loops
still vectorise.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.owners import constant_attribute

_EQ, _NE, _SLT, _ULT = 0, 1, 2, 6  # arith.cmpi predicates
_OEQ, _OLT, _OGE = 1, 4, 3  # arith.cmpf predicates
_OLE = 5


def signed_quotient(op: ir.Operation) -> ir.Value:
    """`arith.divsi`: x / 0 = 0, and x / -1 wraps."""
    left, right = op.operands
    if _constant_outside(right, (0, -1)):
        return op.result
    return _signed_quotient(left, right)


def unsigned_quotient(op: ir.Operation) -> ir.Value:
    """`arith.divui`: x / 0 = 0."""
    left, right = op.operands
    if _constant_outside(right, (0,)):
        return op.result
    return _guard_zero("arith.divui", left, right)


def signed_remainder(op: ir.Operation) -> ir.Value:
    """`arith.remsi`: x % 0 = 0 and x % -1 = 0."""
    left, right = op.operands
    if _constant_outside(right, (0, -1)):
        return op.result
    return _signed_remainder(left, right)


def unsigned_remainder(op: ir.Operation) -> ir.Value:
    """`arith.remui`: x % 0 = 0."""
    left, right = op.operands
    if _constant_outside(right, (0,)):
        return op.result
    return _guard_zero("arith.remui", left, right)


def floor_quotient(op: ir.Operation) -> ir.Value:
    """`arith.floordivsi`, with the corner cases of `signed_quotient`."""
    left, right = op.operands
    inexact, opposite = _inexact_and_opposite(left, right)
    step = _binary("arith.andi", inexact, opposite)
    quotient = _signed_quotient(left, right)
    return _binary("arith.subi", quotient, _extended(step, quotient.type))


def ceiling_quotient(op: ir.Operation) -> ir.Value:
    """`arith.ceildivsi`, with the corner cases of `signed_quotient`."""
    left, right = op.operands
    inexact, opposite = _inexact_and_opposite(left, right)
    step = _select(opposite, _like(inexact, 0), inexact)
    quotient = _signed_quotient(left, right)
    return _binary("arith.addi", quotient, _extended(step, quotient.type))


def unsigned_ceiling_quotient(op: ir.Operation) -> ir.Value:
    """`arith.ceildivui`: x / 0 = 0."""
    left, right = op.operands
    inexact = _compare(_NE, _guard_zero("arith.remui", left, right), _like(left, 0))
    quotient = _guard_zero("arith.divui", left, right)
    return _binary("arith.addi", quotient, _extended(inexact, quotient.type))


def shift(op: ir.Operation) -> ir.Value:
    """`arith.shli` and `arith.shrui`: 0 where the amount is the width or more."""
    value, amount = op.operands
    width = _width(amount.type)
    if _constant_below(amount, width):
        return op.result
    in_range = _compare(_ULT, amount, _like(amount, width))
    shifted = _binary(op.name, value, _select(in_range, amount, _like(amount, 0)))
    return _select(in_range, shifted, _like(value, 0))


def arithmetic_shift(op: ir.Operation) -> ir.Value:
    """`arith.shrsi`: the sign everywhere where the amount is the width or more."""
    value, amount = op.operands
    width = _width(amount.type)
    if _constant_below(amount, width):
        return op.result
    return _binary(op.name, value, _binary("arith.minui", amount, _like(amount, width - 1)))


def signed_from_float(op: ir.Operation) -> ir.Value:
    """`arith.fptosi`, saturating."""
    width = ir.IntegerType(op.result.type).width
    return _saturate(op, -(1 << (width - 1)), (1 << (width - 1)) - 1)


def unsigned_from_float(op: ir.Operation) -> ir.Value:
    """`arith.fptoui`, saturating."""
    width = ir.IntegerType(op.result.type).width
    return _saturate(op, 0, (1 << width) - 1)


def _signed_quotient(left: ir.Value, right: ir.Value) -> ir.Value:
    by_minus_one = _compare(_EQ, right, _like(right, -1))
    safe = _select(by_minus_one, _like(right, 1), right)
    negated = _binary("arith.subi", _like(left, 0), left)
    return _select(by_minus_one, negated, _guard_zero("arith.divsi", left, safe))


def _signed_remainder(left: ir.Value, right: ir.Value) -> ir.Value:
    by_minus_one = _compare(_EQ, right, _like(right, -1))
    return _guard_zero("arith.remsi", left, _select(by_minus_one, _like(right, 1), right))


def _guard_zero(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    zero = _like(right, 0)
    by_zero = _compare(_EQ, right, zero)
    value = _binary(name, left, _select(by_zero, _like(right, 1), right))
    return _select(by_zero, zero, value)


def _inexact_and_opposite(left: ir.Value, right: ir.Value) -> tuple[ir.Value, ir.Value]:
    """Return whether the division leaves a remainder, and whether the signs differ."""
    zero = _like(left, 0)
    inexact = _compare(_NE, _signed_remainder(left, right), zero)
    return inexact, _compare(_SLT, _binary("arith.xori", left, right), zero)


def _saturate(op: ir.Operation, low: int, high: int) -> ir.Value:
    """Convert where that is defined and clamp elsewhere; comparisons with NaN are false.

    The bounds low - 1 (or low) and high + 1 are powers of two, hence exact in every float type
    whose range they are in; beyond it they are infinite and never reached by a finite value.
    """
    (value,) = op.operands
    over = _compare_floats(_OGE, value, _float_like(value, float(high + 1)))
    if low:
        under = _compare_floats(_OLT, value, _float_like(value, float(low)))
    else:
        under = _compare_floats(_OLE, value, _float_like(value, -1.0))
    is_number = _compare_floats(_OEQ, value, value)
    outside = _binary("arith.ori", over, under)
    invalid = _select(is_number, outside, _like(outside, 1))
    safe = _select(invalid, _float_like(value, 0.0), value)
    converted = emit(op.name, [safe], op.result.type)
    clamped = _select(over, _like(converted, high), converted)
    return _select(under, _like(converted, low), clamped)


def _width(kind: ir.Type) -> int:
    return 64 if isinstance(kind, ir.IndexType) else int(ir.IntegerType(kind).width)


def _extended(bit: ir.Value, kind: ir.Type) -> ir.Value:
    name = "arith.index_castui" if isinstance(kind, ir.IndexType) else "arith.extui"
    return emit(name, [bit], kind)


def _binary(name: str, left: ir.Value, right: ir.Value) -> ir.Value:
    return emit(name, [left, right], left.type)


def _select(condition: ir.Value, if_true: ir.Value, if_false: ir.Value) -> ir.Value:
    return emit("arith.select", [condition, if_true, if_false], if_true.type)


def _compare(predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    return emit("arith.cmpi", [left, right], _bool(), predicate=_predicate(predicate))


def _compare_floats(predicate: int, left: ir.Value, right: ir.Value) -> ir.Value:
    return emit("arith.cmpf", [left, right], _bool(), predicate=_predicate(predicate))


def _predicate(number: int) -> ir.IntegerAttr:
    return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)


def _bool() -> ir.Type:
    return ir.IntegerType.get_signless(1)


def _like(value: ir.Value, number: int) -> ir.Value:
    """Return an integer constant of the type of `value`; only its low bits count."""
    width = _width(value.type)
    low = number & ((1 << width) - 1)
    wrapped = low - (1 << width) if width > 1 and low >> (width - 1) else low
    return emit("arith.constant", [], value.type, value=ir.IntegerAttr.get(value.type, wrapped))


def _float_like(value: ir.Value, number: float) -> ir.Value:
    return emit("arith.constant", [], value.type, value=ir.FloatAttr.get(value.type, number))


def _constant_outside(value: ir.Value, excluded: tuple[int, ...]) -> bool:
    number = _constant(value)
    return number is not None and number not in excluded


def _constant_below(value: ir.Value, bound: int) -> bool:
    number = _constant(value)
    return number is not None and 0 <= number < bound


def _constant(value: ir.Value) -> int | None:
    attribute = constant_attribute(value)
    return None if attribute is None else int(ir.IntegerAttr(attribute).value)
