# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports Unique: sorts, and keeps the first of equal elements or slices."""

from __future__ import annotations

from math import prod

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.compaction import marked_places, one_loop
from xyntra.dialects.tensors.loops import insert
from xyntra.dialects.tensors.ordering import ascending_places, ascending_rows, order_keys
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.tensors.gather import take
from xyntra.frontends.onnx.values import Result, Sized


@handles("Unique")
def unique(node: Node) -> list[Result]:
    """The distinct elements, where each is first, which one each element is, and how often.

    NaN is equal to NaN. With an axis, slices take the place of elements; with `sorted` 0, what
    comes first in the input comes first.
    """
    x, b = node.tensor(0), node.b
    axis = node.attribute("axis")
    if axis is None:
        x, axis = b.reshape(x, [prod(x.shape)]), 0
    axis = node.axis(axis, x.rank)
    length = x.shape[axis]
    others = [d for d in range(x.rank) if d != axis]
    keys = b.reshape(order_keys(b, x), x.shape)
    rows = b.reshape(b.transpose(keys, [axis, *others]), [length, prod(x.shape[d] for d in others)])
    if rows.shape[1] == 1:
        order = ascending_places(b, b.reshape(rows, [length]))
    else:
        order = ascending_rows(b, rows)
    places, counts, groups, count = _grouped(b, rows, order)
    if not node.attribute("sorted", 1):
        places, counts, groups = _as_they_come(b, places, counts, groups, count)
    sizes = {0: count}
    return [
        Sized(take(b, x, places, axis), {axis: count}),
        Sized(places, sizes),
        groups,
        Sized(counts, sizes),
    ]


def _grouped(
    b: TensorBuilder, rows: Tensor, order: Tensor
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """For each group of equal rows, in order, the first of its places and its size.

    Returns:
        Both, the group of each row, and the number of groups, of rank 0.
    """
    length, columns = rows.shape

    def starts(_: Scalar, place: Scalar) -> Scalar:
        at = b.index(0)
        first = at.equals(0)
        before = b.extract(order, [first.select(at, at - 1)]).cast("index")
        here = place.cast("index")
        same = constant(True, "bool")
        if columns == 1:
            zero = constant(0, "index")
            same = b.extract(rows, [before, zero]).equals(b.extract(rows, [here, zero]))
        else:
            same = b.extract(equal, [at])
        return first | ~same

    equal = order if columns == 1 else _equal_to_last(b, rows, order)
    marks = b.map(lambda place: starts(place, place), order, dtype="bool")
    firsts, count = marked_places(b, marks)

    def size_of(first: Scalar, number: Scalar) -> Scalar:
        at = b.index(0)
        last = at.equals(max(length - 1, 0))
        after = b.extract(firsts, [last.select(at, at + 1)])
        is_last = at.cast("int64") + 1 >= number
        return is_last.select(constant(length, "int64"), after) - first

    counts = b.map(size_of, firsts, count, dtype="int64") if length else firsts
    places = _at(b, order, firsts)
    return places, counts, _group_of_each(b, marks, order), count


def _equal_to_last(b: TensorBuilder, rows: Tensor, order: Tensor) -> Tensor:
    """Whether each row, in order, is the same as the one ahead of it; the first is, too."""

    def same(place: Scalar) -> Scalar:
        at = b.index(0)
        first = at.equals(0)
        before = b.extract(order, [first.select(at, at - 1)]).cast("index")
        column = b.index(1)
        left = b.extract(rows, [before, column])
        return left.equals(b.extract(rows, [place.cast("index"), column]))

    column = b.reshape(order, [*order.shape, 1])
    each = b.map(same, column, dtype="bool", shape=rows.shape)
    return b.reduce(each, [1], "min", keepdims=False)


def _group_of_each(b: TensorBuilder, marks: Tensor, order: Tensor) -> Tensor:
    """The number of the group that each row is in, by the order of the rows."""
    (length,) = marks.shape
    groups = Tensor(b.fill([length], "int64", 0), "int64")
    if length < 2:
        return groups
    current = Tensor(b.fill([1], "int64", -1), "int64")

    def step(at: Scalar, state: list[Tensor]) -> list[Tensor]:
        zero = constant(0, "index")
        number = b.extract(state[1], [zero]) + b.extract(marks, [at]).cast("int64")
        place = b.extract(order, [at]).cast("index")
        return [insert(number, state[0], [place]), insert(number, state[1], [zero])]

    return one_loop(b, length, [groups, current], step)[0]


def _as_they_come(
    b: TensorBuilder, places: Tensor, counts: Tensor, groups: Tensor, count: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Groups in the order of their first places; there are `count` of them."""
    (length,) = places.shape
    if length < 2:
        return places, counts, groups

    def key(place: Scalar, number: Scalar) -> Scalar:
        there = b.index(0).cast("int64") < number
        return there.select(place, constant(length, "int64")).cast("uint32")

    order = ascending_places(b, b.map(key, places, count, dtype="uint32"))
    inverse = Tensor(b.fill([length], "int64", 0), "int64")

    def step(at: Scalar, state: list[Tensor]) -> list[Tensor]:
        return [insert(at.cast("int64"), state[0], [b.extract(order, [at]).cast("index")])]

    (inverse,) = one_loop(b, length, [inverse], step)
    return _at(b, places, order), _at(b, counts, order), _at(b, inverse, groups)


def _at(b: TensorBuilder, values: Tensor, places: Tensor) -> Tensor:
    return b.map(lambda at: b.extract(values, [at.cast("index")]), places, dtype=values.dtype)
