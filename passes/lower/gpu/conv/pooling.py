# SPDX-License-Identifier: MIT OR Apache-2.0
"""Pooling, and convolutions of each channel by itself: a thread for a few neighbouring outputs.

Of channels-last images it computes a vector of channels, of others one output; neighbouring threads
then read overlapping windows, which the cache holds. It reads all taps of the window before it
combines them. Where the image would be padded for it, it takes the value of the padding for what
lies outside, so that no padded copy is made.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import reduce
from itertools import product
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.conv.image import image_of, used_inputs
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.gpu.conv.window_group import WindowGroup
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    below,
    delinearize,
    global_thread,
)
from xyntra.passes.lower.gpu.emit.vectors import (
    coalesced_order,
    item_bytes,
    lanes_along,
    load_vector,
    store_vector,
    vector_of,
)
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.loop_builder import Position, index, offset
from xyntra.passes.lower.loops.memrefs import view_offset
from xyntra.passes.lower.loops.vector_body import broadcast, emit_results_on_vectors

_THREADS = 256


@dataclass(frozen=True)
class Pooling:
    """A reduction over windows of an image.

    Attributes:
        group: the reduction and what follows.
        image: number of the input that is the image; others are weights, or say how large
            windows are.
        order: loops of the output, the one through its memory last.
        lanes: contiguous outputs of one thread.
    """

    group: WindowGroup
    image: int
    order: tuple[int, ...]
    lanes: int

    @property
    def nest(self) -> LinearNest:
        """The reduction."""
        return self.group.nest

    def with_lanes(self, lanes: int) -> Pooling:
        """Return the same with shorter vectors, whose length divides what it was."""
        return replace(self, lanes=lanes)


def pooling_of(group: WindowGroup) -> Pooling | None:
    """Return `group` as a reduction over windows; None where it is something else."""
    nest = group.nest
    number = image_of(nest)
    if number is None or group.slices or group.values is not None or group.partials is not None:
        return None
    order = tuple(coalesced_order(nest))
    moved, outputs = [nest.inputs[each] for each in used_inputs(nest)], list(nest.outputs)
    if group.epilogue is not None:
        kept = [] if group.epilogue.result is None else [group.epilogue.result]
        moved += [each for each in group.epilogue.inputs if each is not None]
        outputs = [*group.epilogue.outputs, *kept]
    if not all(each.is_scalar or item_bytes(each) for each in (*moved, *outputs)):
        return None
    lanes = lanes_along(replace(nest, inputs=tuple(moved), outputs=tuple(outputs)), order[-1])
    if any(loop == order[-1] for window in group.windows for loop, _ in window.steps):
        lanes = 1  # of neighbours along an edge of the image, one may lie outside alone
    if view_offset(nest.inputs[number].value) % lanes:
        return None
    return Pooling(group, number, order, lanes)


def emit_pooling(pooling: Pooling) -> LaunchShape:
    """Emit pooling for a launch of the returned shape."""
    nest, lanes, inner = pooling.nest, pooling.lanes, pooling.order[-1]
    loops = [(number, nest.loops[number].extent) for number in pooling.order]
    vectors = [*loops[:-1], (inner, loops[-1][1] // lanes)]
    count = prod(extent for _, extent in vectors)
    shape = LaunchShape(-(-count // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, count, always=count % _THREADS == 0):
        position = delinearize(number, vectors)
        position[inner] = arith.muli(position[inner], index(lanes))
        total = broadcast(pooling.group.initial, lanes)
        for tap in _taps(pooling, position):
            (total,) = emit_results_on_vectors(nest.body, [*tap, total], lanes)
        _write(pooling, position, total)
    return shape


def _taps(pooling: Pooling, position: Position) -> list[list[ir.Value]]:
    """Return what the inputs hold for each element of the window, a vector of each."""
    nest = pooling.nest
    extents = [range(nest.loops[number].extent) for number in nest.reductions]
    found = []
    for tap in product(*extents):
        numbers = zip(nest.reductions, tap, strict=True)
        inside = position | {loop: index(number) for loop, number in numbers}
        found.append(_values(pooling, inside))
    return found


def _values(pooling: Pooling, position: Position) -> list[ir.Value]:
    """Return vectors for the inputs; for those that are not looked at, that of the image."""
    inputs, used = pooling.nest.inputs, used_inputs(pooling.nest)
    image = _load(pooling, inputs[pooling.image], position)
    return [
        vector_of(each, pooling.order[-1], pooling.lanes, position)
        if number in used and number != pooling.image
        else image
        for number, each in enumerate(inputs)
    ]


def _load(pooling: Pooling, access: BufferOperand, position: Position) -> ir.Value:
    place = offset(access, position)
    conditions = [_is_within(window, position) for window in pooling.group.windows]
    if not conditions or pooling.group.outside is None:
        return load_vector(access, pooling.lanes, place)
    is_inside = reduce(arith.andi, conditions)
    place = arith.select(is_inside, place, index(0))  # there is always one
    found = load_vector(access, pooling.lanes, place)
    return arith.select(is_inside, found, broadcast(pooling.group.outside, pooling.lanes))


def _is_within(window: ImagePosition, position: Position) -> ir.Value:
    place = index(window.first)
    for loop, step in window.steps:
        place = arith.addi(place, arith.muli(position[loop], index(step)))
    # As unsigned numbers, negative ones are large.
    return arith.cmpi(arith.CmpIPredicate.ult, place, index(window.size))


def _write(pooling: Pooling, position: Position, total: ir.Value) -> None:
    epilogue, inner, lanes = pooling.group.epilogue, pooling.order[-1], pooling.lanes
    if epilogue is None:
        output = pooling.nest.outputs[0]
        store_vector(total, output, lanes, offset(output, position))
        return
    inputs = [
        total if each is None else vector_of(each, inner, lanes, position)
        for each in epilogue.inputs
    ]
    values = emit_results_on_vectors(epilogue.body, inputs, lanes)
    targets = list(epilogue.outputs)
    if epilogue.result is not None:
        values, targets = [*values, total], [*targets, epilogue.result]
    for value, target in zip(values, targets, strict=True):
        store_vector(value, target, lanes, offset(target, position))
