# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading an image in place of the buffer that it would be padded in."""

from __future__ import annotations

import itertools

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.contraction.implicit_padding import Padding, Unpadded, unpadded
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop

SHAPE = (2, 8, 9, 4)  # n, h, w, c
LOW = (0, 2, 1, 0)
SIZES = (2, 5, 7, 4)
STEPS = (288, 36, 4, 1)
IMAGE_STEPS = (140, 28, 4, 1)


def found(loops: list[Loop], strides: list[int], start: int = 0) -> Unpadded | None:
    """What becomes of a nest of `loops` that reads the padded buffer with `strides`."""
    with make_context() as context, ir.Location.unknown():
        module = ir.Module.parse(
            "func.func @k(%a: memref<576xf16>, %b: memref<280xf16>, %z: f16) { return }", context
        )
        function = module.body.operations[0]
        block = function.regions[0].blocks[0]
        buffer, image, zero = block.arguments
        nest = LinearNest(tuple(loops), (BufferOperand(buffer, start, tuple(strides)),), (), block)
        operations = (function.operation, function.operation)
        identity = BufferOperand(image, 0, IMAGE_STEPS)
        return unpadded(nest, 0, Padding(operations, SHAPE, LOW, identity, SIZES, zero))


def check(result: Unpadded, strides: list[int], loops: list[Loop], start: int) -> None:
    """Compare the image's place, and whether it is inside, with what the buffer's place says."""
    access = result.nest.inputs[0]
    extents = [loop.extent for loop in result.nest.loops]
    original = list(strides)
    for loop, inner in result.splits:
        original[loop : loop + 1] = [original[loop] * inner, original[loop]]
    for position in itertools.product(*map(range, extents)):
        place = start + sum(i * step for i, step in zip(position, original, strict=True))
        digits = [place // step % size for step, size in zip(STEPS, SHAPE, strict=True)]
        own = [digit - low for digit, low in zip(digits, LOW, strict=True)]
        expected = all(0 <= each < size for each, size in zip(own, SIZES, strict=True))
        inside = all(
            0 <= window.first + sum(position[i] * step for i, step in window.steps) < window.size
            for window in result.windows
        )
        assert inside == expected
        if inside:
            read = sum(i * step for i, step in zip(own, IMAGE_STEPS, strict=True))
            moved = sum(i * step for i, step in zip(position, access.strides, strict=True))
            assert access.offset + moved == read


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("start", [0, 36 + 4])
def test_every_position_reads_the_image_or_nothing(stride, start):
    rows, columns = (7 - 3 - bool(start)) // stride + 1, (8 - 3 - bool(start)) // stride + 1
    loops = [Loop(2, False), Loop(rows, False), Loop(columns, False)]
    loops += [Loop(3, True), Loop(3, True), Loop(4, True)]
    strides = [288, 36 * stride, 4 * stride, 36, 4, 1]
    result = found(loops, strides, start)
    assert result is not None
    assert len(result.windows) == 2
    check(result, strides, loops, start)


def test_a_loop_over_taps_and_channels_becomes_two():
    loops = [Loop(2, False), Loop(6, False), Loop(7, False), Loop(3, True), Loop(12, True)]
    strides = [288, 36, 4, 36, 1]
    result = found(loops, strides)
    assert result is not None
    assert result.splits == ((4, 4),)
    assert [loop.extent for loop in result.nest.loops] == [2, 6, 7, 3, 3, 4]
    check(result, strides, loops, 0)


def test_positions_that_leave_their_row_are_refused():
    loops = [Loop(6, False), Loop(9, False), Loop(3, True), Loop(4, True)]
    assert found(loops, [36, 4, 4, 1]) is None  # the last columns' taps are in the next row
