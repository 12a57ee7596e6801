# SPDX-License-Identifier: MIT OR Apache-2.0
"""Typed wrappers over MLIR values, so that an expansion reads like the formula it implements.

An expansion sees `Float`, `Int` and `Bool`: f32, i32 and i1 values, or f64, i64 and i1, all scalars
or all vectors of one shape. Arithmetic on them emits one `arith` or `math` operation at the current
insertion point, without fast-math flags; Python numbers become constants, splat where the values
are vectors.
"""

from __future__ import annotations

from collections.abc import Sequence

from torch_mlir.dialects import arith, math

from xyntra.dialects.mlir import ir

__all__ = ["Bool", "Builder", "Float", "Int", "fma", "polynomial"]

_Number = int | float


class Builder:
    """Makes constants and result types for one shape: a scalar, or a vector's sizes."""

    def __init__(self, like: ir.Type) -> None:
        """Take the shape of `like`, and 64 bits if its elements are f64, else 32."""
        self._shape = ir.VectorType(like) if isinstance(like, ir.VectorType) else None
        element = like if self._shape is None else self._shape.element_type
        self._width = 64 if isinstance(element, ir.F64Type) else 32
        self._float = ir.F64Type.get() if self._width == 64 else ir.F32Type.get()
        self._int = ir.IntegerType.get_signless(self._width)
        self.float_type = self.shaped(self._float)
        self.int_type = self.shaped(self._int)
        self._floats: dict[str, Float] = {}
        self._ints: dict[int, Int] = {}

    def shaped(self, element: ir.Type) -> ir.Type:
        """Return `element`, or a vector of it where the shape is a vector's."""
        if self._shape is None:
            return element
        scalable = list(self._shape.scalable_dims) if self._shape.scalable else None
        return ir.VectorType.get(self._shape.shape, element, scalable=scalable)

    def float(self, value: _Number) -> Float:
        """Return the constant nearest to `value`."""
        key = float(value).hex()
        if key not in self._floats:
            attribute = ir.FloatAttr.get(self._float, float(value))
            self._floats[key] = Float(self, self._constant(self.float_type, attribute))
        return self._floats[key]

    def int(self, value: int) -> Int:
        """Return an integer constant; `value` may be given signed or unsigned."""
        half = 2 ** (self._width - 1)
        signed = (value + half) % (2 * half) - half
        if signed not in self._ints:
            attribute = ir.IntegerAttr.get(self._int, signed)
            self._ints[signed] = Int(self, self._constant(self.int_type, attribute))
        return self._ints[signed]

    def _constant(self, type_: ir.Type, attribute: ir.Attribute) -> ir.Value:
        if self._shape is not None:
            attribute = ir.DenseElementsAttr.get_splat(type_, attribute)
        return arith.ConstantOp(type_, attribute).result


class Bool:
    """An i1 value, or a vector of them."""

    __slots__ = ("build", "value")

    def __init__(self, build: Builder, value: ir.Value) -> None:
        self.build = build
        self.value = value

    def __and__(self, other: Bool) -> Bool:
        return Bool(self.build, arith.andi(self.value, other.value))

    def __or__(self, other: Bool) -> Bool:
        return Bool(self.build, arith.ori(self.value, other.value))

    def __xor__(self, other: Bool) -> Bool:
        return Bool(self.build, arith.xori(self.value, other.value))

    def select(self, yes: Float | _Number, no: Float | _Number) -> Float:
        """Return `yes` where this holds, else `no`."""
        first, second = _float(self.build, yes), _float(self.build, no)
        return Float(self.build, arith.select(self.value, first.value, second.value))

    def select_int(self, yes: Int | int, no: Int | int) -> Int:
        """Return the integer `yes` where this holds, else `no`."""
        first, second = _int(self.build, yes), _int(self.build, no)
        return Int(self.build, arith.select(self.value, first.value, second.value))


class Float:
    """An f32 or f64 value, or a vector of them. Comparisons with NaN are false."""

    __slots__ = ("build", "value")

    def __init__(self, build: Builder, value: ir.Value) -> None:
        self.build = build
        self.value = value

    def __add__(self, other: Float | _Number) -> Float:
        return Float(self.build, arith.addf(self.value, self._other(other)))

    def __sub__(self, other: Float | _Number) -> Float:
        return Float(self.build, arith.subf(self.value, self._other(other)))

    def __rsub__(self, other: _Number) -> Float:
        return Float(self.build, arith.subf(self._other(other), self.value))

    def __mul__(self, other: Float | _Number) -> Float:
        return Float(self.build, arith.mulf(self.value, self._other(other)))

    def __truediv__(self, other: Float | _Number) -> Float:
        return Float(self.build, arith.divf(self.value, self._other(other)))

    def __rtruediv__(self, other: _Number) -> Float:
        return Float(self.build, arith.divf(self._other(other), self.value))

    def __neg__(self) -> Float:
        return Float(self.build, arith.negf(self.value))

    def __abs__(self) -> Float:
        return Float(self.build, math.absf(self.value))

    def __lt__(self, other: Float | _Number) -> Bool:
        return self._compare(arith.CmpFPredicate.OLT, other)

    def __le__(self, other: Float | _Number) -> Bool:
        return self._compare(arith.CmpFPredicate.OLE, other)

    def __gt__(self, other: Float | _Number) -> Bool:
        return self._compare(arith.CmpFPredicate.OGT, other)

    def __ge__(self, other: Float | _Number) -> Bool:
        return self._compare(arith.CmpFPredicate.OGE, other)

    def equals(self, other: Float | _Number) -> Bool:
        """Return where both are equal numbers (-0 equals +0)."""
        return self._compare(arith.CmpFPredicate.OEQ, other)

    def differs(self, other: Float | _Number) -> Bool:
        """Return where both are different numbers."""
        return self._compare(arith.CmpFPredicate.ONE, other)

    def unordered_with(self, other: Float) -> Bool:
        """Return where this or `other` is NaN."""
        return self._compare(arith.CmpFPredicate.UNO, other)

    def at_least(self, low: Float | _Number) -> Float:
        """Return max(self, low); NaN stays NaN (one `maxps` on x86)."""
        bound = _float(self.build, low)
        return (bound > self).select(bound, self)

    def at_most(self, high: Float | _Number) -> Float:
        """Return min(self, high); NaN stays NaN (one `minps` on x86)."""
        bound = _float(self.build, high)
        return (bound < self).select(bound, self)

    def number_at_most(self, high: _Number) -> Float:
        """Return min(self, high); NaN becomes `high`, which makes a later `to_int` defined."""
        return (self < high).select(self, high)

    def sqrt(self) -> Float:
        """Return the correctly rounded square root."""
        return Float(self.build, math.sqrt(self.value))

    def round_even(self) -> Float:
        """Return the nearest integer, ties to even."""
        return Float(self.build, math.roundeven(self.value))

    def with_sign_of(self, other: Float) -> Float:
        """Return this magnitude with the sign bit of `other`."""
        return Float(self.build, math.copysign(self.value, other.value))

    def to_int(self) -> Int:
        """Return the integer towards zero; poison for NaN and for values out of range."""
        return Int(self.build, arith.fptosi(self.build.int_type, self.value))

    def bits(self) -> Int:
        """Return the IEEE encoding."""
        return Int(self.build, arith.bitcast(self.build.int_type, self.value))

    def _other(self, other: Float | _Number) -> ir.Value:
        return _float(self.build, other).value

    def _compare(self, predicate: arith.CmpFPredicate, other: Float | _Number) -> Bool:
        return Bool(self.build, arith.cmpf(predicate, self.value, self._other(other)))


class Int:
    """An i32 or i64 value, or a vector of them. Arithmetic wraps; `<` and `>>` are signed."""

    __slots__ = ("build", "value")

    def __init__(self, build: Builder, value: ir.Value) -> None:
        self.build = build
        self.value = value

    def __add__(self, other: Int | int) -> Int:
        return Int(self.build, arith.addi(self.value, self._other(other)))

    def __sub__(self, other: Int | int) -> Int:
        return Int(self.build, arith.subi(self.value, self._other(other)))

    def __mul__(self, other: Int | int) -> Int:
        return Int(self.build, arith.muli(self.value, self._other(other)))

    def __and__(self, other: Int | int) -> Int:
        return Int(self.build, arith.andi(self.value, self._other(other)))

    def __or__(self, other: Int | int) -> Int:
        return Int(self.build, arith.ori(self.value, self._other(other)))

    def __xor__(self, other: Int | int) -> Int:
        return Int(self.build, arith.xori(self.value, self._other(other)))

    def __lshift__(self, other: Int | int) -> Int:
        return Int(self.build, arith.shli(self.value, self._other(other)))

    def __rshift__(self, other: Int | int) -> Int:
        return Int(self.build, arith.shrsi(self.value, self._other(other)))

    def __lt__(self, other: Int | int) -> Bool:
        return self._compare(arith.CmpIPredicate.slt, other)

    def __gt__(self, other: Int | int) -> Bool:
        return self._compare(arith.CmpIPredicate.sgt, other)

    def equals(self, other: Int | int) -> Bool:
        """Return where both are the same integer."""
        return self._compare(arith.CmpIPredicate.eq, other)

    def below_unsigned(self, other: Int | int) -> Bool:
        """Return where this is less than `other`, both read as unsigned."""
        return self._compare(arith.CmpIPredicate.ult, other)

    def shift_right_logical(self, other: Int | int) -> Int:
        """Return this shifted right, filling with zeros."""
        return Int(self.build, arith.shrui(self.value, self._other(other)))

    def divided_by(self, other: int) -> Int:
        """Return this, read as unsigned, divided by `other`, rounded towards zero."""
        return Int(self.build, arith.divui(self.value, self._other(other)))

    def times_unsigned(self, other: Int | int) -> tuple[Int, Int]:
        """Return the low and the high word of the unsigned product of twice the width."""
        low, high = arith.mului_extended(self.value, self._other(other))
        return Int(self.build, low), Int(self.build, high)

    def to_float(self) -> Float:
        """Return the nearest float."""
        return Float(self.build, arith.sitofp(self.build.float_type, self.value))

    def as_float(self) -> Float:
        """Return the float that this encodes."""
        return Float(self.build, arith.bitcast(self.build.float_type, self.value))

    def _other(self, other: Int | int) -> ir.Value:
        return _int(self.build, other).value

    def _compare(self, predicate: arith.CmpIPredicate, other: Int | int) -> Bool:
        return Bool(self.build, arith.cmpi(predicate, self.value, self._other(other)))


def fma(a: Float, b: Float | _Number, c: Float | _Number) -> Float:
    """Return a * b + c, rounded once."""
    return Float(a.build, math.fma(a.value, _float(a.build, b).value, _float(a.build, c).value))


def polynomial(x: Float, coefficients: Sequence[float]) -> Float:
    """Return the polynomial in `x` by Horner's rule; the constant coefficient comes first."""
    result = x.build.float(coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        result = fma(result, x, coefficient)
    return result


def _float(build: Builder, value: Float | _Number) -> Float:
    return value if isinstance(value, Float) else build.float(value)


def _int(build: Builder, value: Int | int) -> Int:
    return value if isinstance(value, Int) else build.int(value)
