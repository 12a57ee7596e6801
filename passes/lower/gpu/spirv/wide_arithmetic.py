# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arithmetic of 64-bit integers in two words of 32 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.math.values import Bool, Builder, Float, Int

__all__ = ["Wide", "from_float", "full_product"]


@dataclass(frozen=True)
class Wide:
    """A 64-bit integer as its low and its high word. Arithmetic wraps.

    Division is by shifts and subtractions where a number does not fit into a word: it is slow, and
    rare. Numbers divided by zero give what the guards around a division do not use.
    """

    low: Int
    high: Int

    @classmethod
    def of(cls, low: ir.Value, high: ir.Value) -> Wide:
        """Return the number that two i32 hold."""
        build = Builder(ir.F32Type.get())
        return cls(Int(build, low), Int(build, high))

    @classmethod
    def constant(cls, value: int) -> Wide:
        """Return a constant, given signed or unsigned."""
        build = Builder(ir.F32Type.get())
        return cls(build.int(value & 0xFFFFFFFF), build.int(value >> 32 & 0xFFFFFFFF))

    @property
    def words(self) -> list[ir.Value]:
        """The words as values, the low one first."""
        return [self.low.value, self.high.value]

    @property
    def build(self) -> Builder:
        """What makes constants beside it."""
        return self.low.build

    def __add__(self, other: Wide) -> Wide:
        low = self.low + other.low
        return Wide(low, self.high + other.high + _as_int(low.below_unsigned(other.low)))

    def __sub__(self, other: Wide) -> Wide:
        borrow = _as_int(self.low.below_unsigned(other.low))
        return Wide(self.low - other.low, self.high - other.high - borrow)

    def __mul__(self, other: Wide) -> Wide:
        low, high = full_product(self.low, other.low)
        return Wide(low, high + self.low * other.high + self.high * other.low)

    def __and__(self, other: Wide) -> Wide:
        return Wide(self.low & other.low, self.high & other.high)

    def __or__(self, other: Wide) -> Wide:
        return Wide(self.low | other.low, self.high | other.high)

    def __xor__(self, other: Wide) -> Wide:
        return Wide(self.low ^ other.low, self.high ^ other.high)

    def negated(self) -> Wide:
        """Return zero less it."""
        return Wide.constant(0) - self

    def equals(self, other: Wide) -> Bool:
        """Tell whether both are the same."""
        return self.low.equals(other.low) & self.high.equals(other.high)

    def below(self, other: Wide, *, signed: bool) -> Bool:
        """Tell whether it is less than `other`."""
        highs = self.high < other.high if signed else self.high.below_unsigned(other.high)
        return highs | (self.high.equals(other.high) & self.low.below_unsigned(other.low))

    def select(self, condition: Bool, other: Wide) -> Wide:
        """Return it where a condition holds, else `other`."""
        return Wide(
            condition.select_int(self.low, other.low), condition.select_int(self.high, other.high)
        )

    def shifted_left(self, amount: Int) -> Wide:
        """Return it shifted by 0 to 63."""
        rest, is_far = amount & 31, _not_below(amount, 32)
        low = self.low << rest
        high = (self.high << rest) | _carried(self.low, rest, left=True)
        return Wide(is_far.select_int(0, low), is_far.select_int(low, high))

    def shifted_right(self, amount: Int, *, signed: bool) -> Wide:
        """Return it shifted by 0 to 63, with copies of its sign or with zeros."""
        rest, is_far = amount & 31, _not_below(amount, 32)
        high = self.high >> rest if signed else self.high.shift_right_logical(rest)
        low = self.low.shift_right_logical(rest) | _carried(self.high, rest, left=False)
        fill = self.high >> 31 if signed else self.build.int(0)
        return Wide(is_far.select_int(high, low), is_far.select_int(fill, high))

    def is_negative(self) -> Bool:
        """Tell whether its sign is set."""
        return self.high < 0

    def size(self) -> Wide:
        """Return it without its sign, to be read as unsigned."""
        return self.negated().select(self.is_negative(), self)

    def divided(self, other: Wide) -> tuple[Wide, Wide]:
        """Return quotient and remainder of unsigned numbers."""
        words = [ir.IntegerType.get_signless(32)] * 4
        is_short = (self.high | other.high).equals(0)
        built = scf.IfOp(is_short.value, words, has_else=True)
        with ir.InsertionPoint(built.then_block):
            zero = Builder(ir.F32Type.get()).int(0).value
            quotient = arith.divui(self.low.value, other.low.value)
            rest = arith.remui(self.low.value, other.low.value)
            scf.YieldOp([quotient, zero, rest, zero])
        with ir.InsertionPoint(built.else_block):
            scf.YieldOp(_long_division(self, other))
        found = list(built.results)
        return Wide.of(*found[:2]), Wide.of(*found[2:])

    def divided_signed(self, other: Wide) -> tuple[Wide, Wide]:
        """Return quotient and remainder of signed numbers, rounded towards zero."""
        quotient, rest = self.size().divided(other.size())
        opposite = (self.high ^ other.high) < 0
        return (
            quotient.negated().select(opposite, quotient),
            rest.negated().select(self.is_negative(), rest),
        )

    def to_float(self, *, signed: bool) -> Float:
        """Return the nearest f32, rounded once."""
        size = self.size() if signed else self
        count = _leading_zeros(size)
        top = size.shifted_left(count)
        sticky = _as_int(top.low.equals(0)) ^ 1
        # Thirty-two bits, of which the lowest stands for all that follow; then a power of two.
        number = Float(self.build, arith.uitofp(self.build.float_type, (top.high | sticky).value))
        power = ((self.build.int(127 + 32) - count) << 23).as_float()
        found = (size.low | size.high).equals(0).select(0.0, number * power)
        return self.is_negative().select(-found, found) if signed else found


def from_float(x: Float, *, signed: bool) -> Wide:
    """Return an f32 that is in the range of the type, rounded towards zero."""
    bits = x.bits()
    exponent = (bits.shift_right_logical(23) & 255) - 127
    mantissa = Wide((bits & 0x7FFFFF) | 0x800000, bits.build.int(0))
    left = mantissa.shifted_left(_at_least_zero(exponent - 23))
    right = mantissa.shifted_right(_at_least_zero(bits.build.int(23) - exponent) & 63, signed=False)
    found = left.select(exponent > 22, right)
    found = Wide.constant(0).select(exponent < 0, found)
    return found.negated().select(bits < 0, found) if signed else found


def full_product(left: Int, right: Int) -> tuple[Int, Int]:
    """Return the low and the high word of the product of unsigned words.

    By halves: SPIR-V's instruction for it has no counterpart in WGSL.
    """
    a, b = left & 0xFFFF, left.shift_right_logical(16)
    c, d = right & 0xFFFF, right.shift_right_logical(16)
    ac, ad, bc = a * c, a * d, b * c
    middle = ac.shift_right_logical(16) + (ad & 0xFFFF) + (bc & 0xFFFF)
    low = (middle << 16) | (ac & 0xFFFF)
    highs = ad.shift_right_logical(16) + bc.shift_right_logical(16)
    return low, b * d + highs + middle.shift_right_logical(16)


def _as_int(condition: Bool) -> Int:
    return condition.select_int(1, 0)


def _not_below(number: Int, limit: int) -> Bool:
    """Tell whether an amount is `limit` or more."""
    return number.build.int(limit - 1).below_unsigned(number)


def _at_least_zero(number: Int) -> Int:
    return (number < 0).select_int(0, number)


def _carried(word: Int, amount: Int, *, left: bool) -> Int:
    """Return the bits of a word that a shift by 0 to 31 hands to its neighbour."""
    other = (word.build.int(32) - amount) & 31
    moved = word.shift_right_logical(other) if left else word << other
    return amount.equals(0).select_int(0, moved)


def _leading_zeros(number: Wide) -> Int:
    zeros = [
        Int(number.build, emit("math.ctlz", [each.value], number.build.int_type))
        for each in (number.low, number.high)
    ]
    found = number.high.equals(0).select_int(zeros[0] + 32, zeros[1])
    return found & 63


def _long_division(dividend: Wide, divisor: Wide) -> list[ir.Value]:
    """Divide bit by bit; returns the words of quotient and remainder."""
    zero, one, bits = (_index(each) for each in (0, 1, 64))
    none = Builder(ir.F32Type.get()).int(0).value
    loop = scf.ForOp(zero, bits, one, [*dividend.words, none, none])
    with ir.InsertionPoint(loop.body):
        number, rest = (Wide.of(*pair) for pair in _pairs(loop.inner_iter_args))
        build = number.build
        # A remainder below the divisor may lose its highest bit when it is doubled.
        overflows = rest.is_negative()
        rest = rest.shifted_left(build.int(1))
        rest = Wide(rest.low | number.high.shift_right_logical(31), rest.high)
        number = number.shifted_left(build.int(1))
        inside = Wide.of(*divisor.words)
        fits = overflows | _not(rest.below(inside, signed=False))
        rest = (rest - inside).select(fits, rest)
        number = Wide(number.low | _as_int(fits), number.high)
        scf.YieldOp([*number.words, *rest.words])
    return list(loop.results)


def _not(condition: Bool) -> Bool:
    return _as_int(condition).equals(0)


def _pairs(values: Sequence[ir.Value]) -> list[tuple[ir.Value, ir.Value]]:
    return list(zip(values[::2], values[1::2], strict=True))


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
