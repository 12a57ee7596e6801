# SPDX-License-Identifier: MIT OR Apache-2.0
"""Scalar arithmetic for the bodies of linalg operations, written with Python's operators.

A `Scalar` is an SSA value with its dtype; `x * 2 + y` emits the right `arith` operations at the
current insertion point. Python numbers take the dtype of the other operand. Both operands of an
operator must have one dtype: conversions are written out with `cast`.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import dataclass

from torch_mlir import ir

from xyntra.dialects.dtypes import NARROW_TYPES, bit_width, is_float, is_unsigned, mlir_type

Number = int | float | bool

AT_MOST_ZERO = "xyntra.at_most_zero"
"""Unit attribute of a math.exp whose operand is at most 0, or NaN."""

size_code: ContextVar[Callable[[int], ir.Value | None] | None]
size_code = ContextVar("size_code", default=None)
"""Returns the code, an index, of a number that a kernel is told when it runs; None for others."""

_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13}
_SIGNED_PREDICATES = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_UNSIGNED_PREDICATES = {"eq": 0, "ne": 1, "lt": 6, "le": 7, "gt": 8, "ge": 9}


def emit(
    name: str, operands: list[ir.Value], result: ir.Type, **attributes: ir.Attribute
) -> ir.Value:
    """Create operation `name` with one result at the current insertion point."""
    return ir.Operation.create(
        name, results=[result], operands=operands, attributes=attributes
    ).results[0]


def constant(value: Number, dtype: str) -> Scalar:
    """A scalar constant of `dtype`."""
    type_ = mlir_type(dtype, ir.Context.current)
    told = _told(value, dtype)
    if told is not None:
        return Scalar(emit("arith.index_cast", [told], type_), dtype)
    if dtype in NARROW_TYPES:
        value = _narrow_bits(value, dtype)
    if is_float(dtype):
        attribute: ir.Attribute = ir.FloatAttr.get(type_, float(value))
    else:
        attribute = ir.IntegerAttr.get(type_, _wrap(int(value), bit_width(dtype)))
    return Scalar(emit("arith.constant", [], type_, value=attribute), dtype)


def _told(value: Number, dtype: str) -> ir.Value | None:
    code = size_code.get()
    if code is None or isinstance(value, float | bool) or is_float(dtype):
        return None
    return code(value)


def _narrow_bits(value: Number, dtype: str) -> int:
    import ml_dtypes  # few models have such constants
    import numpy as np

    narrow = np.dtype(getattr(ml_dtypes, dtype))
    return int(np.array(value, np.float32).astype(narrow).view(np.uint8))


def _wrap(value: int, bits: int) -> int:
    """`value` as the signed integer with the same low `bits` bits."""
    if bits == 1:
        return value & 1
    low = value & ((1 << bits) - 1)
    return low - (1 << bits) if low >> (bits - 1) else low


@dataclass(frozen=True)
class Scalar:
    """An SSA value with the dtype that tells how to compute with it."""

    value: ir.Value
    dtype: str

    def _lift(self, other: Scalar | Number) -> Scalar:
        if not isinstance(other, Scalar):
            return constant(other, self.dtype)
        if other.dtype != self.dtype:
            raise TypeError(f"operands have dtypes {self.dtype} and {other.dtype}")
        return other

    def _binary(self, other: Scalar | Number, float_op: str, signed: str, unsigned: str) -> Scalar:
        name = float_op if is_float(self.dtype) else unsigned if is_unsigned(self.dtype) else signed
        if not name or self.dtype in NARROW_TYPES:
            raise TypeError(f"this operation is not defined for {self.dtype}")
        right = self._lift(other)
        return Scalar(emit(name, [self.value, right.value], self.value.type), self.dtype)

    def __add__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "arith.addf", "arith.addi", "arith.addi")

    def __sub__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "arith.subf", "arith.subi", "arith.subi")

    def __mul__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "arith.mulf", "arith.muli", "arith.muli")

    def __truediv__(self, other: Scalar | Number) -> Scalar:
        """Division; integers truncate toward zero."""
        return self._binary(other, "arith.divf", "arith.divsi", "arith.divui")

    def __mod__(self, other: Scalar | Number) -> Scalar:
        """Remainder with the sign of the dividend (C's `fmod` and `%`)."""
        return self._binary(other, "arith.remf", "arith.remsi", "arith.remui")

    def __and__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "", "arith.andi", "arith.andi")

    def __or__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "", "arith.ori", "arith.ori")

    def __xor__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "", "arith.xori", "arith.xori")

    def __lshift__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "", "arith.shli", "arith.shli")

    def __rshift__(self, other: Scalar | Number) -> Scalar:
        return self._binary(other, "", "arith.shrsi", "arith.shrui")

    def __invert__(self) -> Scalar:
        return self ^ (1 if self.dtype == "bool" else -1)

    def __neg__(self) -> Scalar:
        if is_float(self.dtype):
            return Scalar(emit("arith.negf", [self.value], self.value.type), self.dtype)
        return constant(0, self.dtype) - self

    def maximum(self, other: Scalar | Number) -> Scalar:
        """The larger value; NaN when either operand is NaN."""
        return self._binary(other, "arith.maximumf", "arith.maxsi", "arith.maxui")

    def minimum(self, other: Scalar | Number) -> Scalar:
        """The smaller value; NaN when either operand is NaN."""
        return self._binary(other, "arith.minimumf", "arith.minsi", "arith.minui")

    def _compare(self, other: Scalar | Number, predicate: str) -> Scalar:
        if self.dtype in NARROW_TYPES:
            raise TypeError(f"{self.dtype} is not compared")
        right = self._lift(other)
        if is_float(self.dtype):
            name, table = "arith.cmpf", _FLOAT_PREDICATES
        else:
            name = "arith.cmpi"
            table = _UNSIGNED_PREDICATES if is_unsigned(self.dtype) else _SIGNED_PREDICATES
        i64 = ir.IntegerType.get_signless(64)
        value = emit(
            name,
            [self.value, right.value],
            ir.IntegerType.get_signless(1),
            predicate=ir.IntegerAttr.get(i64, table[predicate]),
        )
        return Scalar(value, "bool")

    def __lt__(self, other: Scalar | Number) -> Scalar:
        return self._compare(other, "lt")

    def __le__(self, other: Scalar | Number) -> Scalar:
        return self._compare(other, "le")

    def __gt__(self, other: Scalar | Number) -> Scalar:
        return self._compare(other, "gt")

    def __ge__(self, other: Scalar | Number) -> Scalar:
        return self._compare(other, "ge")

    def equals(self, other: Scalar | Number) -> Scalar:
        """True where equal; NaN equals nothing."""
        return self._compare(other, "eq")

    def differs(self, other: Scalar | Number) -> Scalar:
        """True where not equal; NaN differs from everything."""
        return self._compare(other, "ne")

    def is_nan(self) -> Scalar:
        """True where the value is NaN."""
        return self.differs(self)

    def math(self, name: str, *others: Scalar | Number) -> Scalar:
        """Apply operation `math.<name>`, as in `x.math("erf")`."""
        operands = [self.value, *(self._lift(other).value for other in others)]
        return Scalar(emit(f"math.{name}", operands, self.value.type), self.dtype)

    def exp_at_most_zero(self) -> Scalar:
        """The exponential of this value, which is at most 0, or NaN."""
        value = emit("math.exp", [self.value], self.value.type, **{AT_MOST_ZERO: ir.UnitAttr.get()})
        return Scalar(value, self.dtype)

    def select(self, if_true: Scalar, if_false: Scalar | Number) -> Scalar:
        """`if_true` where this boolean holds, else `if_false`."""
        other = if_true._lift(if_false)
        value = emit("arith.select", [self.value, if_true.value, other.value], if_true.value.type)
        return Scalar(value, if_true.dtype)

    def absolute(self) -> Scalar:
        """The magnitude; the smallest signed integer stays as it is."""
        if is_unsigned(self.dtype):
            return self
        return self.math("absf" if is_float(self.dtype) else "absi")

    def cast(self, dtype: str) -> Scalar:
        """Convert to `dtype` as numpy's `astype` does.

        Floats become integers by truncation toward zero; any nonzero value becomes true. Where C
        leaves the conversion of a float undefined (NaN, infinities, values out of range), the
        result is what x86 gives: the smallest integer of 32 or 64 bits, cut to that width.
        """
        if dtype == self.dtype:
            return self
        if self.dtype in NARROW_TYPES or dtype in NARROW_TYPES:
            raise TypeError(f"{self.dtype} becomes {dtype} by narrow.convert alone")
        if dtype == "bool":
            return self.differs(0)
        if is_float(dtype) and is_float(self.dtype):
            return self._resize_float(dtype)
        if is_float(dtype):
            return self._integer_to_float(dtype)
        if is_float(self.dtype):
            return self._float_to_integer(dtype)
        return self._resize_integer(dtype)

    def _convert(self, name: str, dtype: str) -> Scalar:
        type_ = mlir_type(dtype, ir.Context.current)
        return Scalar(emit(name, [self.value], type_), dtype)

    def _resize_float(self, dtype: str) -> Scalar:
        # Between 16-bit formats and double there is no instruction: both ways go through float32.
        if {self.dtype, dtype} <= {"float16", "bfloat16"} or (
            "float64" in (self.dtype, dtype) and bit_width(self.dtype) + bit_width(dtype) == 80
        ):
            return self._resize_float("float32")._resize_float(dtype)
        wider = bit_width(dtype) > bit_width(self.dtype)
        return self._convert("arith.extf" if wider else "arith.truncf", dtype)

    def _integer_to_float(self, dtype: str) -> Scalar:
        wide = "float32" if bit_width(dtype) == 16 else dtype
        source = self.cast("int64") if self.dtype == "index" else self
        name = "arith.uitofp" if is_unsigned(self.dtype) else "arith.sitofp"
        return source._convert(name, wide).cast(dtype)

    def _float_to_integer(self, dtype: str) -> Scalar:
        if bit_width(self.dtype) == 16:
            return self.cast("float32")._float_to_integer(dtype)
        if dtype in ("int64", "int32"):
            return self._fptoint("arith.fptosi", dtype, -(2.0 ** (bit_width(dtype) - 1)))
        if dtype == "uint64":
            signed = self._float_to_integer("int64").cast(dtype)
            large = self._fptoint("arith.fptoui", dtype, 2.0**63)
            return (self >= 2.0**63).select(large, signed)
        wide = "int64" if dtype in ("uint32", "index") else "int32"
        return self._float_to_integer(wide).cast(dtype)

    def _fptoint(self, name: str, dtype: str, lowest: float) -> Scalar:
        """`name` where it is defined, and elsewhere the smallest integer (0 if unsigned)."""
        unsigned = is_unsigned(dtype)
        limit = 2.0 ** (bit_width(dtype) - (0 if unsigned else 1))
        fits = (self >= lowest) & (self < limit)
        converted = fits.select(self, 0)._convert(name, dtype)
        return fits.select(converted, 0 if unsigned else int(lowest))

    def bitcast(self, dtype: str) -> Scalar:
        """Return this element's bits as one of another dtype of the same width."""
        return self._convert("arith.bitcast", dtype)

    def saturate(self, dtype: str) -> Scalar:
        """Convert this float to an integer dtype of at most 16 bits, or to its nearest limit.

        NaN becomes the lower limit.
        """
        if dtype in NARROW_TYPES:
            raise TypeError(f"{self.dtype} becomes {dtype} by narrow.convert alone")
        bits = bit_width(dtype) - (0 if is_unsigned(dtype) else 1)
        low, high = 0.0 if is_unsigned(dtype) else -(2.0**bits), 2.0**bits - 1
        at_least = (self > low).select(self, low)
        limited = (at_least < high).select(at_least, high)
        return limited._convert("arith.fptosi", "int32").cast(dtype)

    def _resize_integer(self, dtype: str) -> Scalar:
        if "index" in (dtype, self.dtype):
            name = "arith.index_castui" if is_unsigned(self.dtype) else "arith.index_cast"
            return self._convert(name, dtype)
        if bit_width(dtype) == bit_width(self.dtype):
            return Scalar(self.value, dtype)
        if bit_width(dtype) < bit_width(self.dtype):
            return self._convert("arith.trunci", dtype)
        return self._convert("arith.extui" if is_unsigned(self.dtype) else "arith.extsi", dtype)
