# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vectors of elements that lie apart in memory, or do not begin where an aligned vector begins.

A thread loads the aligned vectors that hold its elements, and picks these in registers: every
second element of a row, a row backwards, a slice that begins one element later. Neighbouring
threads want what is left of the same lines, which comes from the first cache. Results that several
outputs interleave are put together before they are stored.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import Size
from xyntra.passes.lower.gpu.emit.vectors import (
    coalesced_order,
    item_bytes,
    lanes_along,
    load_vector,
    store_vector,
    vector_of,
)
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed, part
from xyntra.passes.lower.loops.loop_builder import Position, index, offset
from xyntra.passes.lower.loops.memrefs import flattened, root
from xyntra.passes.lower.loops.vector_body import is_vectorizable, lane_of

_VECTOR_BYTES = 16  # the widest access of one thread
_MOST_APART = 4  # elements between those of a vector
_NARROWEST = 2  # elements of a part of a vector


@dataclass(frozen=True)
class AlignedWindow:
    """The aligned vectors that hold the elements of one that is not.

    Attributes:
        first: elements before the lowest one.
        count: of aligned vectors.
        step: from one element to the next.
    """

    first: int
    count: int
    step: int

    def place(self, lane: int, lanes: int) -> int:
        """Return where a lane is in the aligned vectors."""
        return self.first + (lane if self.step > 0 else lane - lanes + 1) * self.step


def window_lanes(nest: LinearNest, inner: int) -> int:
    """Return how many contiguous elements along a loop a thread can compute at once; 1 for none.

    As `lanes_along`, and where that gives less, for inputs in windows and outputs that are
    interleaved or stored in parts.
    """
    plain = lanes_along(nest, inner)
    if nest.indices or not is_vectorizable(nest.body):
        return plain
    accesses = [each for each in nest.accesses if not each.is_scalar]
    sizes = [item_bytes(each) for each in accesses]
    if 0 in sizes:
        return plain
    lanes = _VECTOR_BYTES // max(sizes)
    while lanes > plain:
        if nest.loops[inner].extent % lanes == 0 and _can_have(nest, inner, lanes):
            return lanes
        lanes //= 2
    return plain


def stored_together(outputs: Sequence[BufferOperand], inner: int, lanes: int) -> int:
    """Return how many contiguous elements, up to `lanes`, interleaved outputs should have.

    A thread then stores all of them at once, and threads side by side fill whole sectors; with
    longer vectors each store of a warp would leave gaps for the next one.
    """
    for number in range(len(outputs)):
        group = interleaved_outputs(outputs, number, inner)
        while lanes > 1 and len(group) > 1 and not _fill_vector(outputs, group, inner, lanes):
            lanes //= 2
    return lanes


def interleaved_parts(nest: LinearNest) -> list[LinearNest]:
    """Return a nest for each iteration of the innermost loop, where that is too short for vectors.

    Their outputs fill the memory of this one's together, and they have vectors along a loop around
    it: the colours of pictures. Empty where there are none. `nest` is collapsed.
    """
    order = coalesced_order(nest)
    if len(order) < 2 or nest.indices or nest.reads_outputs or not is_vectorizable(nest.body):
        return []
    count = nest.loops[order[-1]].extent
    if isinstance(count, Size):
        return []  # the nests are as many as are made
    if not 1 < count <= _MOST_APART or any(each.strides[order[-1]] != 1 for each in nest.outputs):
        return []
    parts = [collapsed(part(nest, order[-1], number, 1)) for number in range(count)]
    return parts if parts[0].loops and parts_lanes(parts) > 1 else []


def parts_lanes(parts: Sequence[LinearNest]) -> int:
    """Return how many contiguous elements of `interleaved_parts` one thread computes."""
    inner = coalesced_order(parts[0])[-1]
    outputs = [each for nest in parts for each in nest.outputs]
    inputs = [each for nest in parts for each in nest.inputs if not each.is_scalar]
    sizes = [item_bytes(each) for each in (*inputs, *outputs)]
    if 0 in sizes:
        return 1
    lanes = _VECTOR_BYTES // max(sizes)
    while lanes > 1:
        if (
            parts[0].loops[inner].extent % lanes == 0
            and all(_can_load(each, inner, lanes) for each in inputs)
            and all(_can_store(outputs, number, inner, lanes) for number in range(len(outputs)))
        ):
            return lanes
        lanes //= 2
    return 1


def windowed_vector(access: BufferOperand, inner: int, lanes: int, position: Position) -> ir.Value:
    """Return `lanes` elements of an operand along loop `inner`, from `position` on."""
    if access.is_scalar or access.strides[inner] == 0 or _alignment(access, inner, lanes) == lanes:
        return vector_of(access, inner, lanes, position)
    window = _window(access, inner, lanes)
    if window is None:
        return _in_parts(access, inner, lanes, position)
    whole = _whole(access)
    lowest = window.first + min(window.step, 0) * (1 - lanes)
    start = arith.subi(offset(whole, position), index(lowest))
    vectors = [
        load_vector(whole, lanes, arith.addi(start, index(number * lanes)))
        for number in range(window.count)
    ]
    places = [window.place(lane, lanes) for lane in range(lanes)]
    return _of_lanes([lane_of(vectors[place // lanes], place % lanes) for place in places])


def store_windowed(
    values: Sequence[ir.Value],
    outputs: Sequence[BufferOperand],
    inner: int,
    lanes: int,
    position: Position,
) -> None:
    """Write a vector of every output, from `position` on along loop `inner`."""
    done: set[int] = set()
    for number, (value, access) in enumerate(zip(values, outputs, strict=True)):
        if number in done:
            continue
        group = interleaved_outputs(outputs, number, inner)
        if len(group) > 1:
            done |= set(group)
            together = _fill_vector(outputs, group, inner, lanes)
            width = lanes * len(group) if together else lanes
            found = [values[each] for each in group]
            _store_interleaved(found, outputs[group[0]], lanes, width, position)
            continue
        width = _alignment(access, inner, lanes)
        place = offset(access, position)
        for first in range(0, lanes, width):
            part = _of_lanes([lane_of(value, first + lane) for lane in range(width)])
            whole = value if width == lanes else part
            store_vector(whole, access, width, arith.addi(place, index(first)))


def _can_have(nest: LinearNest, inner: int, lanes: int) -> bool:
    if nest.reads_outputs:
        return False
    reads = all(_can_load(each, inner, lanes) for each in nest.inputs if not each.is_scalar)
    return reads and all(
        _can_store(nest.outputs, number, inner, lanes) for number in range(len(nest.outputs))
    )


def _can_load(access: BufferOperand, inner: int, lanes: int) -> bool:
    if access.strides[inner] == 0 or _window(access, inner, lanes) is not None:
        return True
    return _alignment(access, inner, lanes) >= _NARROWEST


def _can_store(outputs: Sequence[BufferOperand], number: int, inner: int, lanes: int) -> bool:
    access = outputs[number]
    if access.strides[inner] == 1:
        return _alignment(access, inner, lanes) >= _NARROWEST
    group = interleaved_outputs(outputs, number, inner)
    first = outputs[group[0]]
    return len(group) > 1 and all(
        each % lanes == 0 for each in (first.start, *_outer(first, inner))
    )


def _outer(access: BufferOperand, inner: int) -> list[int]:
    return [step for number, step in enumerate(access.strides) if number != inner]


def _alignment(access: BufferOperand, inner: int, lanes: int) -> int:
    """Return how many contiguous elements can be touched at once, up to `lanes`; 1 for none."""
    width = lanes if access.strides[inner] == 1 else 1
    while any(each % width for each in (access.start, *_outer(access, inner))):
        width //= 2
    return width


def _window(access: BufferOperand, inner: int, lanes: int) -> AlignedWindow | None:
    step = access.strides[inner]
    size = prod(ir.MemRefType(root(access.value).type).shape)
    if not 0 < abs(step) <= _MOST_APART or size % lanes:
        return None
    if any(each % lanes for each in _outer(access, inner)):
        return None
    first = (access.start + min(step, 0) * (lanes - 1)) % lanes
    return AlignedWindow(first, -(-(first + abs(step) * (lanes - 1) + 1) // lanes), step)


def _whole(access: BufferOperand) -> BufferOperand:
    """Return an access in the whole of its memory, before the start of which nothing is touched."""
    memory = root(access.value)
    return BufferOperand(flattened(memory), access.start, access.strides)


def _in_parts(access: BufferOperand, inner: int, lanes: int, position: Position) -> ir.Value:
    width = _alignment(access, inner, lanes)
    place = offset(access, position)
    parts = [
        load_vector(access, width, arith.addi(place, index(first)))
        for first in range(0, lanes, width)
    ]
    return _of_lanes([lane_of(part, lane) for part in parts for lane in range(width)])


def interleaved_outputs(outputs: Sequence[BufferOperand], number: int, inner: int) -> list[int]:
    """Return the outputs that fill, with one of them, all of the memory along a loop, in order."""
    access = outputs[number]
    step = access.strides[inner]
    if not 1 < step <= _MOST_APART:
        return [number]
    starts = {
        each.start: place
        for place, each in enumerate(outputs)
        if root(each.value) == root(access.value) and each.strides == access.strides
    }
    for first in range(access.start - step + 1, access.start + 1):
        if all(first + each in starts for each in range(step)):
            return [starts[first + each] for each in range(step)]
    return [number]


def _fill_vector(
    outputs: Sequence[BufferOperand], group: Sequence[int], inner: int, lanes: int
) -> bool:
    """Tell whether `lanes` neighbours of interleaved outputs are one aligned vector at most."""
    first, width = outputs[group[0]], lanes * len(group)
    if width * item_bytes(first) > _VECTOR_BYTES or width & (width - 1):
        return False
    return all(each % width == 0 for each in (first.start, *_outer(first, inner)))


def _store_interleaved(
    values: Sequence[ir.Value], first: BufferOperand, lanes: int, width: int, position: Position
) -> None:
    """Write `lanes` elements of each value, one of each after another, `width` at once."""
    place, count = offset(first, position), len(values)
    for start in range(0, lanes * count, width):
        elements = range(start, start + width)
        vector = _of_lanes([lane_of(values[each % count], each // count) for each in elements])
        store_vector(vector, first, width, arith.addi(place, index(start)))


def _of_lanes(elements: Sequence[ir.Value]) -> ir.Value:
    kind = ir.VectorType.get([len(elements)], elements[0].type)
    return emit("vector.from_elements", list(elements), kind)
