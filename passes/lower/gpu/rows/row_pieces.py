# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pieces of rows whose elements lie between those of others, as real and imaginary parts do.

A thread loads and stores all pieces of its elements together, in vectors of contiguous elements.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.gpu.emit.windows import interleaved_outputs
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.vector_body import lane_of

_MOST_PIECES = 4


def is_piece(access: BufferOperand, count: int) -> bool:
    """Tell whether an access along a row is one piece of several, which vectors hold together.

    Args:
        access: of a nest with a loop along rows.
        count: loops over rows.
    """
    if access.is_scalar or access.every > 1 or access.jumps:
        return False
    pieces = access.strides[count]
    if not 1 < pieces <= _MOST_PIECES:
        return False
    size = prod(ir.MemRefType(root(access.value).type).shape)
    places = (size, first_piece(access, count), *access.strides[:count])
    return all(place % pieces == 0 for place in places)


def first_piece(access: BufferOperand, count: int) -> int:
    """Return the element of the first of all pieces where the access of one begins."""
    return access.start - access.start % access.strides[count]


def are_stored_together(nest: LinearNest, count: int) -> bool:
    """Tell whether a nest writes all pieces of what it writes one piece of."""
    return all(
        each.strides[count] in (0, 1) or len(interleaved_outputs(nest.outputs, number, count)) > 1
        for number, each in enumerate(nest.outputs)
    )


def of_piece(whole: ir.Value, number: int, pieces: int) -> ir.Value:
    """Return the elements of one piece, of a vector of all."""
    lanes = ir.VectorType(whole.type).shape[0]
    return _vector([lane_of(whole, lane) for lane in range(number, lanes, pieces)])


def together(pieces: Sequence[ir.Value]) -> ir.Value:
    """Return a vector of all elements of several, one of each after another."""
    lanes = ir.VectorType(pieces[0].type).shape[0]
    return _vector([lane_of(piece, lane) for lane in range(lanes) for piece in pieces])


def _vector(elements: Sequence[ir.Value]) -> ir.Value:
    kind = ir.VectorType.get([len(elements)], elements[0].type)
    return emit("vector.from_elements", list(elements), kind)
