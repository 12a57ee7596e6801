# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests without reductions: every thread computes one vector of neighbouring elements."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cuda.thread_grid import (
    MAX_GRID,
    LaunchShape,
    as_index,
    below,
    block_number,
    delinearize,
    global_thread,
    like,
    thread_number,
    when,
)
from xyntra.passes.lower.nests.linear_nest import Access, LinearNest, collapsed
from xyntra.passes.lower.nests.loop_builder import Position, index, load, offset, store
from xyntra.passes.lower.nests.scalar_nest import emit_body
from xyntra.passes.lower.nests.vector_body import (
    broadcast,
    emit_results_on_vectors,
    is_vectorizable,
)

_THREADS = 256
_VECTOR_BYTES = 16  # the widest access of one thread
_STEPS = 4  # vectors of a thread at most
_LOADS = 16  # of a thread, on their way together
_BLOCKS = 1024  # several for each multiprocessor
_OWN = (2, 4, 8)  # neighbours that one thread computes where there are no more


def emit_pointwise(nest: LinearNest) -> LaunchShape:
    """Emit `nest`, which has no reductions, for a launch of the returned shape.

    Buffers start at multiples of 16 bytes.
    """
    nest = collapsed(nest)
    order = coalesced_order(nest)
    lanes = lanes_along(nest, order[-1]) if order else 1
    extents = [nest.loops[number].extent for number in order]
    if lanes > 1:
        extents[-1] //= lanes
        return _emit_by_vectors(nest, list(zip(order, extents, strict=True)), lanes)
    own = extents[-1] if extents and extents[-1] in _OWN and not nest.reads_outputs else 1
    if own > 1:
        extents[-1] = 1
    loops = list(zip(order, extents, strict=True))
    count = prod(extents)
    if own == 1 and not nest.reads_outputs and _steps(nest, count) > 1:
        return _emit_by_elements(nest, loops)
    shape = LaunchShape(-(-count // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, count, always=count % _THREADS == 0):
        position = delinearize(number, loops)
        if own > 1:
            _emit_neighbours(nest, order[-1], own, position)
        else:
            emit_element(nest, position)
    return shape


def _emit_neighbours(nest: LinearNest, inner: int, count: int, position: Position) -> None:
    """Compute `count` elements along loop `inner`; their stores can become one of a vector."""
    places = [position | {inner: index(number)} for number in range(count)]
    values = [emit_body(nest, place, []) for place in places]
    for place, results in zip(places, values, strict=True):
        for value, output in zip(results, nest.outputs, strict=True):
            store(value, output, offset(output, place))


def _emit_by_vectors(nest: LinearNest, loops: Sequence[tuple[int, int]], lanes: int) -> LaunchShape:
    """Emit `nest` with loops of vectors; a thread takes several, a block neighbouring ones."""
    shape, places = _places(nest, loops)
    inner = loops[-1][0]
    for position, _ in places:
        position[inner] = arith.muli(position[inner], index(lanes))
    emit_vectors(nest, inner, lanes, places)
    return shape


def _emit_by_elements(nest: LinearNest, loops: Sequence[tuple[int, int]]) -> LaunchShape:
    """Emit `nest` with several single elements for a thread, whose loads come first."""
    shape, places = _places(nest, loops)
    values = [emit_body(nest, position, []) for position, _ in places]
    for (position, inside), results in zip(places, values, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(results, nest.outputs, strict=True):
                store(value, output, offset(output, position))
    return shape


def _places(
    nest: LinearNest, loops: Sequence[tuple[int, int]]
) -> tuple[LaunchShape, list[tuple[Position, ir.Value | None]]]:
    """Return a launch, and where each step of a thread is in `loops`, and if it is inside."""
    count = prod(extent for _, extent in loops)
    steps = _steps(nest, count)
    tile = _THREADS * steps
    shape = LaunchShape(-(-count // tile), _THREADS)
    wide = shape.grid * tile > MAX_GRID
    block, thread = block_number(), thread_number()
    if wide:
        block, thread = as_index(block), as_index(thread)
    first = arith.addi(arith.muli(block, like(block, tile)), thread)
    places = []
    for step in range(steps):
        number, inside = arith.addi(first, like(first, step * _THREADS)), None
        if count % tile:
            last = like(number, count - 1)
            inside = arith.cmpi(arith.CmpIPredicate.ule, number, last)
            # What lies behind the end is computed from the last one, and not stored.
            number = arith.minui(number, last)
        places.append((delinearize(number, loops), inside))
    return shape, places


def _steps(nest: LinearNest, count: int) -> int:
    """Return how many vectors a thread takes: more where there is enough for all, and room."""
    moving = sum(1 for each in nest.inputs if not each.is_scalar)
    steps = _STEPS
    while steps > 1 and (steps * max(moving, 1) > _LOADS or count < steps * _THREADS * _BLOCKS):
        steps //= 2
    return steps


def coalesced_order(nest: LinearNest) -> list[int]:
    """Return the parallel loops, outermost first, so that neighbouring threads write neighbours."""

    def distance(number: int) -> tuple[int, int]:
        outputs = max((abs(each.strides[number]) for each in nest.outputs), default=0)
        inputs = max((abs(each.strides[number]) for each in nest.inputs), default=0)
        return (-outputs, -inputs)

    parallel = [number for number, loop in enumerate(nest.loops) if not loop.is_reduction]
    return sorted(parallel, key=distance)


def item_bytes(access: Access) -> int:
    """Return the bytes of an element, 0 for what has no vectors in memory."""
    kind = str(access.element_type)
    # In memory a boolean is a byte, in a vector a bit.
    return 0 if kind == "i1" else ITEM_BYTES.get(kind, 0)


def lanes_along(nest: LinearNest, inner: int) -> int:
    """Return how many neighbours along a loop one thread can load and store at once; 1 for none."""
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


def _is_aligned(nest: LinearNest, access: Access, inner: int, lanes: int) -> bool:
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


def emit_element(nest: LinearNest, position: Position) -> None:
    """Compute one element of every output, at `position` of all loops."""
    places = [offset(each, position) for each in nest.outputs]
    present = [load(*each) for each in zip(nest.outputs, places, strict=True)]
    results = emit_body(nest, position, present)
    for value, output, place in zip(results, nest.outputs, places, strict=True):
        store(value, output, place)


def emit_vectors(
    nest: LinearNest, inner: int, lanes: int, steps: Sequence[tuple[Position, ir.Value | None]]
) -> None:
    """Compute a vector of every output for each step: its position, and whether there is one."""
    accesses = nest.accesses if nest.reads_outputs else nest.inputs
    # All loads come first, so that they are on their way together.
    arguments = [
        [vector_of(each, inner, lanes, position) for each in accesses] for position, _ in steps
    ]
    results = [emit_results_on_vectors(nest.body, each, lanes) for each in arguments]
    for (position, inside), values in zip(steps, results, strict=True):
        with nullcontext() if inside is None else when(inside):
            for value, output in zip(values, nest.outputs, strict=True):
                store_vector(value, output, lanes, offset(output, position))


def vector_of(access: Access, inner: int, lanes: int, position: Position) -> ir.Value:
    """Return `lanes` neighbours of an operand along loop `inner`, from `position` on."""
    if access.is_scalar:
        return broadcast(access.value, lanes)
    place = offset(access, position)
    if access.strides[inner] == 0:
        return broadcast(load(access, place), lanes)
    return load_vector(access, lanes, place)


def load_vector(access: Access, lanes: int, place: ir.Value) -> ir.Value:
    """Return `lanes` neighbours; the first one's address is a multiple of their size.

    What has no vectors in memory is one element.
    """
    element = access.element_type
    if not item_bytes(access):
        return broadcast(load(access, place), lanes)
    kind = ir.VectorType.get([lanes], element)
    return emit("vector.load", [access.value, place], kind, alignment=_alignment(access, lanes))


def store_vector(value: ir.Value, access: Access, lanes: int, place: ir.Value) -> None:
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


def _alignment(access: Access, lanes: int) -> ir.Attribute:
    i64 = ir.IntegerType.get_signless(64)
    return ir.IntegerAttr.get(i64, lanes * item_bytes(access))
