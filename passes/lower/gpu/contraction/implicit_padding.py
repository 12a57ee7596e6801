# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds images that are padded for one convolution or pooling, which can read around the padding.

The lowering fills a buffer with a constant and copies the image to its middle. What can put the
constant in place of what lies outside reads the image itself; the fill and the copy then need not
be made.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.owners import constant_number
from xyntra.passes.analysis.sizes.session import sized
from xyntra.passes.lower.gpu.conv.window import ImagePosition
from xyntra.passes.lower.kernels.fills import initial_of, is_fill
from xyntra.passes.lower.loops.linear_nest import (
    BufferOperand,
    LinearNest,
    is_linear,
    linear_nest,
    split,
)
from xyntra.passes.lower.loops.memrefs import (
    flattened,
    has_static_layout,
    identity_map,
    is_private,
    root,
    written_by,
)
from xyntra.passes.lower.tensor.row_major import row_major_steps


@dataclass(frozen=True)
class Padding:
    """A padded buffer that is not stored: the image, and what stands around it.

    Attributes:
        operations: the fill and the copy that make it.
        shape: of the buffer.
        low: elements in front of the image, in every dimension.
        image: the image; its loops are the dimensions.
        sizes: of the image.
        value: what stands around it.
    """

    operations: tuple[ir.Operation, ir.Operation]
    shape: tuple[int, ...]
    low: tuple[int, ...]
    image: BufferOperand
    sizes: tuple[int, ...]
    value: ir.Value

    @property
    def is_zero(self) -> bool:
        """Tell whether zeros stand around the image."""
        return _is_zero(self.value)


@dataclass(frozen=True)
class Unpadded:
    """A contraction that reads an image in place of a padded buffer.

    Attributes:
        nest: the contraction, a loop that crosses dimensions as two.
        splits: those loops with the inner extents, as they were split one after the other.
        windows: the dimensions in which the image was padded.
    """

    nest: LinearNest
    splits: tuple[tuple[int, int], ...]
    windows: tuple[ImagePosition, ...]


def padding_of(
    work: Sequence[ir.Operation],
    contraction: ir.Operation,
    operand: int,
    outputs: Sequence[ir.Value],
    *,
    made: bool = False,
) -> Padding | None:
    """Return what an input of a contraction was padded from; None where it is no such buffer.

    Args:
        work: everything that the kernel computes, in order.
        contraction: a linalg.generic on memrefs.
        operand: number of the input.
        outputs: what the launch of the contraction writes.
        made: what writes the middle may compute it; the image is then one in the order of the
            buffer, which it would have to write instead.
    """
    whole = root(contraction.operands[operand])
    makers = _makers(work[: work.index(contraction)], whole)
    if makers is None or not is_private(whole, [*makers, contraction]):
        return None
    fill, copy = makers
    if fill.operands[-1] != whole:
        return None
    if made:
        return _made(fill, copy, whole)
    if not is_linear(copy) or not _is_copy(copy):
        return None
    shape = tuple(map(sized, ir.MemRefType(whole.type).shape))
    nest = linear_nest(copy)
    target, steps = nest.outputs[0], row_major_steps(shape)
    if len(nest.loops) != len(shape) or list(target.strides) != steps:
        return None
    between = work[work.index(copy) + 1 : work.index(contraction)]
    written = [*outputs, *(value for op in between for value in written_by(op))]
    if any(root(value) == root(copy.operands[0]) for value in written):
        return None
    with contraction.location, ir.InsertionPoint(contraction):
        image = replace(nest.inputs[0], value=flattened(copy.operands[0]))
    low = _digits(target.start, steps)
    sizes = tuple(loop.extent for loop in nest.loops)
    return Padding((fill, copy), shape, low, image, sizes, initial_of(fill))


def _made(fill: ir.Operation, maker: ir.Operation, whole: ir.Value) -> Padding | None:
    """Return the padding around what an operation writes, element by element."""
    middle = maker.operands[-1]
    kind, shape = ir.MemRefType(middle.type), tuple(ir.MemRefType(whole.type).shape)
    strides, start = kind.get_strides_and_offset()
    steps = row_major_steps(shape)
    maps = [ir.AffineMapAttr(each).value for each in maker.attributes["indexing_maps"]]
    inputs = int(maker.attributes["operandSegmentSizes"][0])
    if len(maker.operands) != inputs + 1 or not has_static_layout(middle):
        return None
    looks_back = list(maker.regions[0].blocks[0].arguments[inputs].uses)
    if looks_back or any(root(each) == whole for each in list(maker.operands)[:inputs]):
        return None
    if maps[-1] != identity_map(kind.rank).value or list(strides) != steps:
        return None
    if "reduction" in str(maker.attributes["iterator_types"]):
        return None
    with maker.location, ir.InsertionPoint(maker):
        image = BufferOperand(flattened(whole), 0, tuple(row_major_steps(kind.shape)))
    low = _digits(start, steps)
    return Padding((fill, maker), shape, low, image, tuple(kind.shape), initial_of(fill))


def unpadded(nest: LinearNest, number: int, padding: Padding) -> Unpadded | None:
    """Return `nest` with the image as its input `number`; None where loops cross dimensions.

    Strides of the buffer are read as a number's digits in the mixed radix of its shape; they are
    positions in the dimensions as long as no dimension is left, which makes the reading unique.
    """
    splits: list[tuple[int, int]] = []
    steps = row_major_steps(padding.shape)
    crossing = _crossing(nest, number, padding.shape, steps)
    while crossing is not None:
        loop, inner = crossing
        nest = split(nest, loop, inner)
        splits.append(crossing)
        crossing = _crossing(nest, number, padding.shape, steps)
    access = nest.inputs[number]
    first = _digits(access.start, steps)
    moves = [_digits(step, steps) for step in access.strides]
    strides, windows, start = [0] * len(nest.loops), [], padding.image.offset
    for dimension, size in enumerate(padding.shape):
        own = tuple((loop, each[dimension]) for loop, each in enumerate(moves) if each[dimension])
        last = sum((nest.loops[loop].extent - 1) * step for loop, step in own)
        if first[dimension] + last >= size:
            return None
        step, ahead = padding.image.strides[dimension], first[dimension] - padding.low[dimension]
        start += ahead * step
        for loop, count in own:
            strides[loop] += count * step
        if padding.sizes[dimension] < size:
            windows.append(ImagePosition(own, ahead, padding.sizes[dimension]))
    inputs = list(nest.inputs)
    inputs[number] = BufferOperand(padding.image.value, start, tuple(strides))
    return Unpadded(replace(nest, inputs=tuple(inputs)), tuple(splits), tuple(windows))


def _crossing(
    nest: LinearNest, number: int, shape: Sequence[int], steps: Sequence[int]
) -> tuple[int, int] | None:
    """Return a loop that walks through several dimensions, and its steps through the innermost.

    So do loops in longer steps, where windows that do not overlap fill a dimension.
    """
    strides = nest.inputs[number].strides
    for loop, step in enumerate(strides):
        extent = nest.loops[loop].extent
        for size, distance in zip(shape[1:], steps[1:], strict=True):  # none leaves the first one
            stride, rest = divmod(step, distance)
            if rest or not 0 < stride < size or size % stride:
                continue
            inner = size // stride
            if extent > inner and extent % inner == 0:
                return loop, inner
    return None


def _digits(number: int, steps: Sequence[int]) -> tuple[int, ...]:
    digits = []
    for step in steps:
        digits.append(number // step)
        number %= step
    return tuple(digits)


def _makers(
    earlier: Sequence[ir.Operation], whole: ir.Value
) -> tuple[ir.Operation, ir.Operation] | None:
    """Return the two operations of `earlier` that write `whole`: a fill, then another."""
    found = [op for op in earlier if any(root(value) == whole for value in written_by(op))]
    if len(found) != 2 or not all(op.name == "linalg.generic" for op in found):
        return None
    return (found[0], found[1]) if is_fill(found[0]) else None


def _is_copy(op: ir.Operation) -> bool:
    body = op.regions[0].blocks[0]
    return (
        len(op.operands) == 2
        and isinstance(op.operands[0].type, ir.MemRefType)
        and "reduction" not in str(op.attributes["iterator_types"])
        and terminator(body).operands[0] == body.arguments[0]
        and len(list(body.operations)) == 1
    )


def _is_zero(value: ir.Value) -> bool:
    return constant_number(value) == 0
