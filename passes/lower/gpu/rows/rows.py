# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests that exchange rows: one block a row, which stays in shared memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.device import GpuDevice
from xyntra.passes.lower.gpu.elementwise.pointwise import emit_element, emit_vectors
from xyntra.passes.lower.gpu.emit.combiner import Combiner
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory
from xyntra.passes.lower.gpu.emit.thread_grid import (
    LaunchShape,
    barrier,
    block_number,
    delinearize,
    strided_loop,
)
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, lanes_along
from xyntra.passes.lower.gpu.reductions.reductions import (
    block_threads,
    reduce_in_block,
    reduce_in_thread,
)
from xyntra.passes.lower.gpu.rows.row_order import in_rows
from xyntra.passes.lower.kernels.row_group import with_row_buffers
from xyntra.passes.lower.loops.linear_nest import LinearNest, collapsed
from xyntra.passes.lower.loops.loop_builder import Position, index


def row_threads(nests: Sequence[LinearNest], device: GpuDevice) -> int:
    """Return how many threads should share a row of `nests`; 0 where they share no loops."""
    ordered, count = in_rows(nests)
    lengths = [_row_length(collapsed(nest, fixed=count), count) for nest in ordered]
    return block_threads(max(lengths), device) if count else 0


def emit_rows(
    nests: Sequence[LinearNest],
    generics: Sequence[ir.Operation],
    threads: int,
    shared: SharedMemory,
) -> LaunchShape:
    """Emit `nests`, which share their outer loops, for a launch of the returned shape.

    Args:
        nests: at least two, in order.
        generics: the operations that they come from, and that will be removed.
        threads: of a block, which computes a row.
        shared: where rows that only these operations use are kept.
    """
    nests, count = in_rows(nests)
    nests = with_row_buffers(nests, count, generics, shared.row)
    nests = [collapsed(nest, fixed=count) for nest in nests]
    outer = [(number, loop.extent) for number, loop in enumerate(nests[0].loops[:count])]
    position = delinearize(block_number(), outer)
    for number, nest in enumerate(nests):
        if number:
            barrier()
        _emit_row(nest, position, threads, shared)
    return LaunchShape(prod(extent for _, extent in outer), threads)


def _row_length(nest: LinearNest, count: int) -> int:
    return prod(loop.extent for loop in nest.loops[count:])


def _emit_row(nest: LinearNest, position: Position, threads: int, shared: SharedMemory) -> None:
    """Let the threads of a block run the loops that `position` lacks."""
    inner = [
        (number, nest.loops[number].extent)
        for number in coalesced_order(nest)
        if number not in position
    ]
    count = prod(extent for _, extent in inner)
    combiner = Combiner.of(nest) if nest.reductions else None
    if combiner is not None and count == 1:
        inside = position | delinearize(block_number(), [(number, 1) for number, _ in inner])
        reduce_in_block(nest, inside, combiner, threads, shared)
        return

    loop = inner[-1][0] if inner else -1
    lanes = lanes_along(nest, loop) if inner and not nest.reductions else 1
    if lanes > 1:
        _emit_vectors(nest, inner, lanes, position, threads)
        return

    def step(number: ir.Value) -> Sequence[ir.Value]:
        inside = position | delinearize(number, inner)
        if nest.reductions:
            reduce_in_thread(nest, inside)
        else:
            emit_element(nest, inside)
        return []

    strided_loop(count, threads, [], step)


def _emit_vectors(
    nest: LinearNest,
    loops: Sequence[tuple[int, int]],
    lanes: int,
    position: Position,
    threads: int,
) -> None:
    """Let the threads of a block compute what `loops` walk through, a vector at a time."""
    inner, extent = loops[-1]
    vectors = [*loops[:-1], (inner, extent // lanes)]

    def step(number: ir.Value) -> Sequence[ir.Value]:
        inside = position | delinearize(number, vectors)
        inside[inner] = arith.muli(inside[inner], index(lanes))
        emit_vectors(nest, inner, lanes, [(inside, None)])
        return []

    strided_loop(prod(count for _, count in vectors), threads, [], step)
