# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests with reductions: one thread an output, or the threads of a block together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.emit.block_reduce import block_reduce
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    below,
    block_number,
    delinearize,
    global_thread,
    i32,
    strided_loop,
    thread_number,
    when,
)
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, item_bytes, lanes_along, vector_of
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, collapsed
from xyntra.passes.lower.loops.loop_builder import (
    Position,
    index,
    load,
    offset,
    plus,
    store,
)
from xyntra.passes.lower.loops.scalar_nest import emit_body, emit_reductions
from xyntra.passes.lower.loops.vector_body import broadcast, emit_results_on_vectors, lane_of

_THREADS = 256
_MIN_SHARED = 32  # shorter reductions do not occupy a warp
_BYTES = 8  # that a thread loads at once, with as many numbers for each
_MANY_OUTPUTS = 1 << 16  # enough threads for a whole device


def reduction_threads(nest: LinearNest, device: GpuDevice) -> int:
    """Return how many threads should compute an output of `nest` together: 1, or a block."""
    nest = collapsed(nest)
    order = coalesced_order(nest)
    outputs = prod(nest.loops[number].extent for number in order)
    if Combiner.of(nest) is None or _suits_threads(nest, order, outputs):
        return 1
    return block_threads(prod(nest.loops[number].extent for number in nest.reductions), device)


def emit_reduction(nest: LinearNest, threads: int, shared: SharedMemory) -> LaunchShape:
    """Emit `nest`, which reduces, for a launch of the returned shape.

    Args:
        nest: the reduction.
        threads: that compute an output together; with more than one there is a `Combiner`.
        shared: for what the warps of a block exchange.
    """
    nest = collapsed(nest)
    order = coalesced_order(nest)
    outputs = prod(nest.loops[number].extent for number in order)
    combiner = Combiner.of(nest)
    if combiner is None or threads == 1:
        return _thread_each(nest, order, outputs)
    position = delinearize(block_number(), _extents(nest, order))
    reduce_in_block(nest, position, combiner, threads, shared)
    return LaunchShape(outputs, threads)


def block_threads(length: int, device: GpuDevice) -> int:
    """Return how many threads take a row of `length` elements together."""
    threads, most = device.subgroup, min(_THREADS * 2, device.block_threads)
    length = hint_of(length)
    while threads < most and threads * 8 <= length:
        threads *= 2
    return threads


def reduce_in_block(
    nest: LinearNest,
    position: Position,
    combiner: Combiner,
    threads: int,
    shared: SharedMemory,
) -> None:
    """Let the threads of a block compute one element of the output.

    Args:
        nest: a reduction.
        position: an iteration of all its parallel loops, the same in every thread.
        combiner: how it combines.
        threads: of the block.
        shared: for what the warps exchange.
    """
    partial = _partial(nest, position, combiner, threads)
    total = block_reduce(partial, combiner, threads, shared)
    output = nest.outputs[0]
    place = offset(output, position)
    with when(arith.cmpi(arith.CmpIPredicate.eq, thread_number(), i32(0))):
        store(combiner.combine(load(output, place), total), output, place)


def _partial(nest: LinearNest, position: Position, combiner: Combiner, threads: int) -> ir.Value:
    """Return what one thread of a block combines: every `threads`-th vector, or element."""
    loops = _extents(nest, nest.reductions)
    inner = min(nest.reductions, key=lambda number: farthest_stride(nest, number))
    lanes = max(lanes_along(nest, inner), _lanes_of_bytes(nest, inner))
    if lanes == 1:

        def step(number: ir.Value, partial: ir.Value) -> Sequence[ir.Value]:
            inside = position | delinearize(number, loops)
            return emit_body(nest, inside, [partial])

        count = prod(extent for _, extent in loops)
        return strided_loop(count, threads, [combiner.start()], step)[0]
    outer = [loop for loop in loops if loop[0] != inner]
    vectors = [*outer, (inner, nest.loops[inner].extent // lanes)]

    def vector_step(number: ir.Value, partial: ir.Value) -> Sequence[ir.Value]:
        inside = position | delinearize(number, vectors)
        inside[inner] = arith.muli(inside[inner], index(lanes))
        values = [_vector(each, inner, lanes, inside) for each in nest.inputs]
        return emit_results_on_vectors(nest.body, [*values, partial], lanes)

    count = prod(extent for _, extent in vectors)
    start = [broadcast(combiner.start(), lanes)]
    (partial,) = strided_loop(count, threads, start, vector_step)
    return reduce(combiner.combine, [lane_of(partial, lane) for lane in range(lanes)])


def _lanes_of_bytes(nest: LinearNest, inner: int) -> int:
    """Return how many contiguous bytes of packed weights a thread loads at once; 1 for none.

    What they are multiplied with may lie strides apart, and is loaded element by element.
    """
    near = [each for each in nest.inputs if each.is_scalar or each.strides[inner] in (0, 1)]
    has_bytes = any(not each.is_scalar and item_bytes(each) == 1 for each in near)
    if not has_bytes or len(near) == len(nest.inputs):
        return 1
    lanes = lanes_along(replace(nest, inputs=tuple(near)), inner)
    return min(lanes, _BYTES)


def _vector(access: BufferOperand, inner: int, lanes: int, position: Position) -> ir.Value:
    """Return elements of an operand along a loop, which need not be contiguous."""
    if access.is_scalar or access.strides[inner] in (0, 1):
        return vector_of(access, inner, lanes, position)
    first = offset(access, position)
    places = [plus(first, index(lane * access.strides[inner])) for lane in range(lanes)]
    kind = ir.VectorType.get([lanes], access.element_type)
    return emit("vector.from_elements", [load(access, place) for place in places], kind)


def farthest_stride(nest: LinearNest, loop: int) -> int:
    """Return how far the inputs move at most with a loop."""
    return max((abs(each.strides[loop]) for each in nest.inputs), default=0)


def reduce_in_thread(nest: LinearNest, position: Position) -> None:
    """Compute one element of every output in one thread, at `position` of the parallel loops."""
    places = [offset(each, position) for each in nest.outputs]
    present = [load(*each) for each in zip(nest.outputs, places, strict=True)]
    results = emit_reductions(nest, nest.reductions, position, present)
    for value, output, place in zip(results, nest.outputs, places, strict=True):
        store(value, output, place)


def _thread_each(nest: LinearNest, order: Sequence[int], outputs: int) -> LaunchShape:
    shape = LaunchShape(-(-outputs // _THREADS), _THREADS)
    number = global_thread(shape)
    with below(number, outputs, always=outputs % _THREADS == 0):
        reduce_in_thread(nest, delinearize(number, _extents(nest, order)))
    return shape


def _suits_threads(nest: LinearNest, order: Sequence[int], outputs: int) -> bool:
    """Tell whether a thread for every output keeps the device busy, and reads are coalesced."""
    length = prod(nest.loops[number].extent for number in nest.reductions)
    if length < _MIN_SHARED or outputs >= _MANY_OUTPUTS * 8:
        return True
    if not order or outputs < _MANY_OUTPUTS:
        return False
    return any(each.strides[order[-1]] == 1 for each in nest.inputs)


def _extents(nest: LinearNest, loops: Sequence[int]) -> list[tuple[int, int]]:
    return [(number, nest.loops[number].extent) for number in loops]
