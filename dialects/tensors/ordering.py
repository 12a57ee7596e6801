# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts the elements of a vector, or slices of a tensor, into ascending order.

The order is stable, and equal to numpy's: NaN is behind all numbers, both zeros are equal. Elements
are compared by integers that grow with them. Of 64 bits these are sorted twice, by their low and
then by their high half.
"""

from __future__ import annotations

from torch_mlir import ir

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import bit_width, is_float, is_unsigned, mlir_type
from xyntra.dialects.scalar import Scalar, constant, emit
from xyntra.dialects.tensors.compaction import one_loop
from xyntra.dialects.tensors.loops import Carried, carry_range, insert
from xyntra.dialects.tensors.sorting import best_along, rank_of

__all__ = ["ascending_places", "ascending_rows", "order_keys"]

_NAN = (1 << 64) - 1


def order_keys(b: TensorBuilder, x: Tensor) -> Tensor:
    """Integers without sign, of 32 or 64 bits, that are ordered and equal as the elements are."""
    if bit_width(x.dtype) <= 32:
        plain = b.map(lambda v: v.cast("uint8"), x, dtype="uint8") if x.dtype == "bool" else x
        return b.map(lambda v: rank_of(v, largest=False), plain, dtype="uint32")
    return b.map(_wide_key, x, dtype="uint64")


def _wide_key(value: Scalar) -> Scalar:
    if not is_float(value.dtype):
        key = value.cast("uint64")
        return key if is_unsigned(value.dtype) else key ^ constant(1 << 63, "uint64")
    number = value + 0.0  # both zeros are equal
    type_ = mlir_type("int64", ir.Context.current)
    bits = Scalar(emit("arith.bitcast", [number.value], type_), "int64")
    ordered = (bits ^ ((bits >> 63) | -(1 << 63))).cast("uint64")
    return number.is_nan().select(constant(_NAN, "uint64"), ordered)


def ascending_places(b: TensorBuilder, keys: Tensor) -> Tensor:
    """The positions (int64) of the elements of a vector of `order_keys`, the smallest first."""
    (length,) = keys.shape
    if length < 2:
        return Tensor(b.fill([length], "int64", 0), "int64")
    if keys.dtype == "uint32":
        return best_along(b, keys, 0, length, largest=False)[1]
    low = b.map(lambda v: v.cast("uint32"), keys, dtype="uint32")
    by_low = best_along(b, low, 0, length, largest=False)[1]

    def high_half(place: Scalar) -> Scalar:
        return (b.extract(keys, [place.cast("index")]) >> 32).cast("uint32")

    high = b.map(high_half, by_low, dtype="uint32")
    by_high = best_along(b, high, 0, length, largest=False)[1]
    return b.map(lambda at: b.extract(by_low, [at.cast("index")]), by_high, dtype="int64")


def ascending_rows(b: TensorBuilder, keys: Tensor) -> Tensor:
    """The positions (int64) of the rows of a matrix of `order_keys` in lexicographic order.

    Each row is compared with each other one.
    """
    rows, columns = keys.shape
    places = Tensor(b.fill([rows], "int64", 0), "int64")
    if rows < 2:
        return places

    def place(row: Scalar, state: list[Tensor]) -> list[Tensor]:
        size = constant(rows, "index")
        zero = constant(0, "int64")

        def compare(other: Scalar, _: list[Tensor], ahead: list[Scalar]) -> Carried:
            order = _compared(b, keys, other, row, columns)
            before = (order < 0) | (order.equals(0) & (other.cast("int64") < row.cast("int64")))
            return [], [ahead[0] + before.cast("int64")]

        (rank,) = carry_range(size, [], [zero], compare)[1]
        return [insert(row.cast("int64"), state[0], [rank.cast("index")])]

    return one_loop(b, rows, [places], place)[0]


def _compared(b: TensorBuilder, keys: Tensor, first: Scalar, second: Scalar, size: int) -> Scalar:
    """-1, 0 or 1: how one row stands to another one; only inside a body."""

    def step(column: Scalar, _: list[Tensor], order: list[Scalar]) -> Carried:
        left, right = b.extract(keys, [first, column]), b.extract(keys, [second, column])
        one = constant(1, "int32")
        here = (left < right).select(-one, (left > right).cast("int32"))
        return [], [order[0].equals(0).select(here, order[0])]

    found: Scalar = carry_range(constant(size, "index"), [], [constant(0, "int32")], step)[1][0]
    return found
