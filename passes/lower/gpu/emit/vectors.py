# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contiguous elements that a thread loads and stores at once."""

from __future__ import annotations

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, load, offset, store
from xyntra.passes.lower.loops.vector_body import broadcast, is_vectorizable

_VECTOR_BYTES = 16  # the widest access of one thread


def coalesced_order(nest: LinearNest) -> list[int]:
    """Return the parallel loops, outermost first, so that writes are coalesced."""

    def distance(number: int) -> tuple[int, int]:
        outputs = max((abs(each.strides[number]) for each in nest.outputs), default=0)
        inputs = max((abs(each.strides[number]) for each in nest.inputs), default=0)
        return (-outputs, -inputs)

    parallel = [number for number, loop in enumerate(nest.loops) if not loop.is_reduction]
    return sorted(parallel, key=distance)


def item_bytes(access: BufferOperand) -> int:
    """Return the bytes of an element, 0 for what has no vectors in memory."""
    kind = str(access.element_type)
    # In memory a boolean is a byte, in a vector a bit.
    return 0 if kind == "i1" else ITEM_BYTES.get(kind, 0)


def lanes_along(nest: LinearNest, inner: int) -> int:
    """Return how many contiguous elements along a loop a thread can access at once; 1 for none."""
    if nest.indices or not is_vectorizable(nest.body):
        return 1
    return lanes_in_memory(nest, inner)


def lanes_in_memory(nest: LinearNest, inner: int) -> int:
    """Return the same for a body that takes vectors of any length."""
    accesses = [each for each in nest.accesses if not each.is_scalar]
    sizes = {item_bytes(each) for each in accesses}
    if 0 in sizes or (not nest.loops[inner].is_reduction and _is_fixed(nest, inner)):
        return 1
    lanes = _VECTOR_BYTES // max(sizes)
    while lanes > 1 and not all(_is_aligned(nest, each, inner, lanes) for each in accesses):
        lanes //= 2
    return lanes if nest.loops[inner].extent % lanes == 0 else 1


def _is_fixed(nest: LinearNest, inner: int) -> bool:
    """Tell whether an output does not walk through memory along a loop."""
    return any(each.strides[inner] != 1 for each in nest.outputs)


def _is_aligned(nest: LinearNest, access: BufferOperand, inner: int, lanes: int) -> bool:
    step = access.strides[inner]
    if step == 0:
        return True
    others = [stride for number, stride in enumerate(access.strides) if number != inner]
    first = access.start
    return (
        step == 1
        and nest.loops[inner].extent % lanes == 0
        and all(place % lanes == 0 for place in [first, *others])
    )


def vector_of(access: BufferOperand, inner: int, lanes: int, position: Position) -> ir.Value:
    """Return `lanes` contiguous elements of an operand along loop `inner`, from `position` on."""
    if access.is_scalar:
        return broadcast(access.value, lanes)
    place = offset(access, position)
    if access.strides[inner] == 0:
        return broadcast(load(access, place), lanes)
    return load_vector(access, lanes, place)


def load_vector(access: BufferOperand, lanes: int, place: ir.Value) -> ir.Value:
    """Return `lanes` contiguous elements; the first one's address is a multiple of their size.

    What has no vectors in memory is one element.
    """
    element = access.element_type
    if not item_bytes(access):
        return broadcast(load(access, place), lanes)
    kind = ir.VectorType.get([lanes], element)
    return emit("vector.load", [access.value, place], kind, alignment=_alignment(access, lanes))


def store_vector(value: ir.Value, access: BufferOperand, lanes: int, place: ir.Value) -> None:
    """Write a vector; its address is a multiple of its size.

    What has no vectors in memory is one element.
    """
    if not item_bytes(access):
        element, first = access.element_type, ir.DenseI64ArrayAttr.get([0])
        store(emit("vector.extract", [value], element, static_position=first), access, place)
        return
    ir.Operation.create(
        "vector.store",
        operands=[value, access.value, place],
        attributes={"alignment": _alignment(access, lanes)},
    )


def _alignment(access: BufferOperand, lanes: int) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.IntegerAttr.get(i64, lanes * item_bytes(access))
