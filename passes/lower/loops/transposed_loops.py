# SPDX-License-Identifier: MIT OR Apache-2.0
"""Splits a loop of a transposition, so that lines of memory are used whole while they are cached.

One operand is in sequence along the innermost loop, another along the loop that is split. With a
few iterations of the latter innermost, each of them writes a row of its own, a little further every
time, and every line that is read is used up at once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop

_BLOCK = 16  # rows that are written at a time: each holds a line of the first cache, and a page
_MIN_ELEMENTS = 1 << 14  # less stays in the first cache anyway


def transposed_loop(nest: LinearNest, order: Sequence[int]) -> int | None:
    """Return the loop to split, where `nest` transposes a large operand; else None.

    Args:
        nest: any nest.
        order: its loops, outermost first.
    """
    if nest.reductions or nest.indices or len(order) < 2:
        return None
    inner = order[-1]
    size = 1
    extents = [hint_of(loop.extent) for loop in nest.loops]
    for number in order:
        size *= extents[number]
    if size < _MIN_ELEMENTS or extents[inner] < 2 * _BLOCK:
        return None
    for access in nest.inputs:
        if abs(hint_of(access.strides[inner])) < _BLOCK:
            continue
        for number in order[:-1]:
            if access.strides[number] == 1 and extents[number] >= 2 * _BLOCK:
                return number
    return None


def split_loop(nest: LinearNest, number: int) -> tuple[LinearNest, LinearNest | None]:
    """Return `nest` with loop `number` in blocks, the new last loop being inside, and the rest.

    The rest holds the iterations that fill no block.
    """
    extent = nest.loops[number].extent
    blocks = extent // _BLOCK
    loops = list(nest.loops)
    loops[number] = Loop(blocks, is_reduction=False)
    main = replace(
        nest,
        loops=(*loops, Loop(_BLOCK, is_reduction=False)),
        inputs=tuple(_in_blocks(each, number) for each in nest.inputs),
        outputs=tuple(_in_blocks(each, number) for each in nest.outputs),
    )
    if extent % _BLOCK == 0:
        return main, None
    loops[number] = Loop(extent % _BLOCK, is_reduction=False)
    rest = replace(
        nest,
        loops=tuple(loops),
        inputs=tuple(_from(each, number, blocks * _BLOCK) for each in nest.inputs),
        outputs=tuple(_from(each, number, blocks * _BLOCK) for each in nest.outputs),
    )
    return main, rest


def _in_blocks(access: BufferOperand, number: int) -> BufferOperand:
    strides = list(access.strides)
    step = strides[number]
    strides[number] = step * _BLOCK
    return replace(access, strides=(*strides, step))


def _from(access: BufferOperand, number: int, start: int) -> BufferOperand:
    return replace(access, offset=access.offset + start * access.strides[number])
