# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds the places that are marked, in order, and how many there are."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, insert, when

__all__ = ["marked_places", "one_loop"]


def marked_places(b: TensorBuilder, marks: Tensor) -> tuple[Tensor, Tensor]:
    """The positions (int64) of the true elements of a vector, and their number (int64, rank 0).

    There is room for all positions; those behind the number are 0.
    """
    (length,) = marks.shape
    places = Tensor(b.fill([length], "int64", 0), "int64")
    count = Tensor(b.fill([1], "int64", 0), "int64")
    if not length:
        return places, b.reshape(count, [])

    def body(place: Scalar, state: list[Tensor]) -> Sequence[Tensor]:
        def mark() -> Sequence[Tensor]:
            zero = constant(0, "index")
            found = b.extract(state[1], [zero])
            listed = insert(place.cast("int64"), state[0], [found.cast("index")])
            return [listed, insert(found + 1, state[1], [zero])]

        return when(b.extract(marks, [place]), state, mark)

    places, count = one_loop(b, length, [places, count], body)
    return places, b.reshape(count, [])


def one_loop(
    b: TensorBuilder,
    size: int,
    state: Sequence[Tensor],
    body: Callable[[Scalar, list[Tensor]], Sequence[Tensor]],
) -> list[Tensor]:
    """One loop from 0 to `size`, at least 1, that stays one operation.

    Simplification would take a loop of one iteration apart, and a kernel is one operation.
    """
    if size > 1:
        return for_each(b, [size], state, lambda indices, inner: body(indices[0], inner))

    def only(indices: list[Scalar], inner: list[Tensor]) -> list[Tensor]:
        zero = constant(0, "index")
        return when(indices[0].equals(0), inner, lambda: body(zero, inner))

    return for_each(b, [2], state, only)
