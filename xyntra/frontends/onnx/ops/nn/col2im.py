# SPDX-License-Identifier: MIT OR Apache-2.0
"""Images from overlapping blocks, and from the maxima of windows."""

from __future__ import annotations

from math import prod

from torch_mlir import ir

from xyntra.dialects.builder import Iterator, Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.loops import for_each, insert
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.onnx.ops.nn.window import Window, read_window, spatial_attribute


@handles("Col2Im")
def col2im(node: Node) -> Tensor:
    """Add up, at every pixel, the elements of all blocks that cover it."""
    x = node.tensor(0)
    image, block = (node.constant(i).reshape(-1).tolist() for i in (1, 2))
    window = read_window(node, image, block)
    if x.rank != 3 or x.shape[1] % prod(block) or x.shape[2] != prod(window.output):
        raise node.invalid(f"an input {x.shape} has not the blocks of an image {image}")
    channels = x.shape[1] // prod(block)
    columns = node.b.reshape(x, [x.shape[0], channels, *block, *window.output])
    return cast(node.b, _sum_of_blocks(node, columns, image, window), x.dtype)


def _sum_of_blocks(node: Node, columns: Tensor, image: list[int], window: Window) -> Tensor:
    """Loops: batch, channel, the pixel, and the position within a block, which is summed over."""
    b, rank, dtype = node.b, len(image), accumulator_of(columns.dtype)
    loops = 2 + 2 * rank
    with b.location:
        d = [ir.AffineDimExpr.get(i) for i in range(loops)]
        taps_map = ir.AffineMap.get(loops, 0, d[2 + rank :])
        write = ir.AffineMap.get(loops, 0, d[: 2 + rank])

    def body(_: Scalar, running: Scalar) -> Scalar:
        address, covered = [b.index(0), b.index(1)], constant(True, "bool")
        blocks = []
        for axis in range(rank):
            tap = b.index(2 + rank + axis)
            address.append(tap)
            pixel = b.index(2 + axis).cast("int64") + window.low[axis]
            start = pixel - tap.cast("int64") * window.dilations[axis]
            number = start / window.strides[axis]
            exact = (start % window.strides[axis]).equals(0)
            covered = covered & exact & (start >= 0) & (number < window.output[axis])
            blocks.append(number.maximum(0).minimum(window.output[axis] - 1).cast("index"))
        value = b.extract(columns, [*address, *blocks]).cast(dtype)
        return running + covered.select(value, 0)

    shape = [*columns.shape[:2], *image]
    # Nothing is read from this operand: its shape is what tells the loops over a block.
    taps = Tensor(b.empty(window.kernel, "int8"), "int8")
    iterators: list[Iterator] = ["parallel"] * (2 + rank)
    iterators += ["reduction"] * rank
    output = (b.fill(shape, dtype, 0), dtype, write)
    return b.generic([(taps, taps_map)], [output], iterators, body)[0]


@handles("MaxUnpool")
def max_unpool(node: Node) -> Tensor:
    """Put every value where its index says, and zero elsewhere."""
    x, indices, b = node.tensor(0), node.tensor(1), node.b
    rank = x.rank - 2
    if rank < 1 or indices.shape != x.shape:
        raise node.invalid(f"input {x.shape} and indices {indices.shape} do not fit")
    kernel = spatial_attribute(node, "kernel_shape", rank, 1, 1)
    strides = spatial_attribute(node, "strides", rank, 1, 1)
    pads = node.attribute("pads") or [0] * (2 * rank)
    if len(pads) != 2 * rank or min(pads) < 0:
        raise node.invalid(f"attribute 'pads' must have {2 * rank} integers >= 0, got {pads}")
    shape = list(x.shape[:2])
    for i, size in enumerate(x.shape[2:]):
        shape.append((size - 1) * strides[i] + kernel[i] - pads[i] - pads[i + rank])
    if min(shape[2:]) < 1:
        raise node.invalid(f"the result would have the shape {tuple(shape)}")
    count = prod(x.shape)
    flat, where = b.reshape(x, [count]), b.reshape(indices, [count])
    empty = Tensor(b.fill([prod(shape)], x.dtype, 0), x.dtype)

    def place(at: list[Scalar], state: list[Tensor]) -> list[Tensor]:
        position = b.extract(where, at).maximum(0).minimum(prod(shape) - 1).cast("index")
        return [insert(b.extract(flat, at), state[0], [position])]

    def only(old: Scalar) -> Scalar:
        position = b.extract(where, [constant(0, "index")]).maximum(0).minimum(prod(shape) - 1)
        value = b.extract(flat, [constant(0, "index")])
        return b.index(0).equals(position.cast("index")).select(value, old)

    # A loop of one step would be none, and leave nothing that is a kernel.
    placed = for_each(b, [count], [empty], place)[0] if count != 1 else None
    result = b.reshape(placed or b.map(only, empty, dtype=x.dtype), shape)
    if not node.has(2):
        return result
    wanted = node.constant(2).reshape(-1).tolist()
    more = [size - inferred for size, inferred in zip(wanted, shape, strict=True)]
    if min(more) < 0:
        raise node.invalid(f"output_shape {wanted} is smaller than {tuple(shape)}")
    return b.pad(result, [0] * x.rank, more, 0)
