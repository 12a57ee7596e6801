# SPDX-License-Identifier: MIT OR Apache-2.0
"""The numbers of elements, which a body asks for by linalg.index, as vectors."""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import LinearNest, Strides
from xyntra.passes.lower.loops.loop_builder import Position, offset_along
from xyntra.passes.lower.loops.vector_body import broadcast


def index_vectors(
    nest: LinearNest, position: Position, inner: int, lanes: int
) -> dict[ir.Value, ir.Value]:
    """Return what stands for each linalg.index in the body of `nest`.

    Args:
        nest: the nest.
        position: of the first lane, in all loops that indices move with.
        inner: the loop that lanes are contiguous along.
        lanes: elements of a vector.
    """
    found = {}
    for view in nest.body.operations if nest.indices else ():
        op = view.operation
        if op.name == "linalg.index":
            strides = nest.indices[ir.IntegerAttr(op.attributes["dim"]).value]
            found[op.result] = _numbers(strides, position, inner, lanes)
    return found


def _numbers(strides: Strides, position: Position, inner: int, lanes: int) -> ir.Value:
    kind = ir.IndexType.get()
    first = broadcast(offset_along(strides, position), lanes)
    if not strides[inner] or lanes == 1:
        return first
    each = [ir.IntegerAttr.get(kind, strides[inner] * lane) for lane in range(lanes)]
    vector = ir.VectorType.get([lanes], kind)
    rest = emit("arith.constant", [], vector, value=ir.DenseElementsAttr.get(each, vector))
    return integers.addi(first, rest)
