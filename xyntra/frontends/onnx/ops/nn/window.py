# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads the sliding window of a convolution or pooling: strides, dilations and pads of a node."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.frontends.onnx.node import Node

MAX_PAD = 2**24
"""Most elements that one dimension is padded by."""


@dataclass(frozen=True)
class Window:
    """A sliding kernel; every field has one entry a spatial dimension.

    Attributes:
        kernel: number of taps.
        strides: distance between neighbouring outputs.
        dilations: distance between neighbouring taps.
        low: padding before the input.
        high: padding after the input.
        output: number of outputs.
    """

    kernel: tuple[int, ...]
    strides: tuple[int, ...]
    dilations: tuple[int, ...]
    low: tuple[int, ...]
    high: tuple[int, ...]
    output: tuple[int, ...]

    def pad(self, b: TensorBuilder, x: Tensor, value: float | int) -> Tensor:
        """`x` [N, C, *spatial] with all that the kernel reads, which `ceil_mode` may extend."""
        high = [
            max(pad, (out - 1) * stride + dilation * (taps - 1) + 1 - size - low)
            for pad, out, stride, dilation, taps, size, low in zip(
                self.high,
                self.output,
                self.strides,
                self.dilations,
                self.kernel,
                x.shape[2:],
                self.low,
                strict=True,
            )
        ]
        return b.pad(x, [0, 0, *self.low], [0, 0, *high], value)


def spatial_attribute(node: Node, name: str, rank: int, default: int, minimum: int) -> list[int]:
    """A list with one integer a spatial dimension, none smaller than `minimum`."""
    values = node.attribute(name)
    if values is None:
        return [default] * rank
    if not isinstance(values, list) or len(values) != rank:
        raise node.invalid(f"attribute '{name}' must have {rank} integers, got {values}")
    if min(values, default=minimum) < minimum:
        raise node.invalid(f"attribute '{name}' must not be less than {minimum}, got {values}")
    return [int(value) for value in values]


def auto_pad_of(node: Node) -> str:
    """The mode of padding."""
    mode = str(node.attribute("auto_pad", "NOTSET"))
    if mode not in ("NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"):
        raise node.invalid(f"attribute 'auto_pad' is '{mode}'")
    return mode


def kernel_of_weight(node: Node, weight: Sequence[int]) -> tuple[int, ...]:
    """The kernel of a weight of shape `weight`, which 'kernel_shape' must agree with."""
    kernel = tuple(weight[2:])
    given = spatial_attribute(node, "kernel_shape", len(kernel), 0, 1)
    if node.attribute("kernel_shape") is not None and tuple(given) != kernel:
        raise node.invalid(f"kernel_shape {given} is not that of the weight, {list(kernel)}")
    return kernel


def read_window(
    node: Node, sizes: Sequence[int], kernel: Sequence[int], *, ceil_mode: bool = False
) -> Window:
    """The window that the node's attributes describe; it may have no outputs.

    Args:
        node: has strides, dilations, pads and auto_pad.
        sizes: the input's spatial dimensions.
        kernel: number of taps by dimension.
        ceil_mode: also take windows that begin inside and end outside. For an `auto_pad` of VALID
            the specification's formulas for both modes are the same one: none ends outside.
    """
    rank = len(sizes)
    if len(kernel) != rank or min(kernel, default=1) < 1:
        raise node.invalid(f"a kernel of shape {list(kernel)} does not fit {rank} dimensions")
    strides = spatial_attribute(node, "strides", rank, 1, 1)
    dilations = spatial_attribute(node, "dilations", rank, 1, 1)
    extents = [d * (k - 1) + 1 for k, d in zip(kernel, dilations, strict=True)]
    mode = auto_pad_of(node)
    low, high = _pads(node, mode, sizes, extents, strides)
    rounds_up = ceil_mode and mode != "VALID"
    output = []
    for i in range(rank):
        if low[i] + high[i] > MAX_PAD:
            raise node.unsupported(f"{low[i] + high[i]} elements of padding")
        room = sizes[i] + low[i] + high[i] - extents[i]
        count = (-(-room // strides[i]) if rounds_up else room // strides[i]) + 1
        # Windows that would begin in the padding behind the input are ignored.
        if rounds_up and (count - 1) * strides[i] >= sizes[i] + low[i]:
            count -= 1
        if count < 0:
            raise node.invalid(
                f"the kernel spans {extents[i]} elements, the padded input {room + extents[i]}"
            )
        output.append(count)
    fields = (kernel, strides, dilations, low, high, output)
    return Window(*(tuple(field) for field in fields))


def _pads(
    node: Node, mode: str, sizes: Sequence[int], extents: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    rank = len(sizes)
    if mode == "NOTSET":
        pads = node.attribute("pads") or [0] * (2 * rank)
        if len(pads) != 2 * rank or min(pads, default=0) < 0:
            raise node.invalid(f"attribute 'pads' must have {2 * rank} integers >= 0, got {pads}")
        return pads[:rank], pads[rank:]
    if mode == "VALID":
        return [0] * rank, [0] * rank
    low, high = [], []
    for size, extent, stride in zip(sizes, extents, strides, strict=True):
        total = max(0, (-(-size // stride) - 1) * stride + extent - size)
        less, more = total // 2, total - total // 2
        low.append(less if mode == "SAME_UPPER" else more)
        high.append(more if mode == "SAME_UPPER" else less)
    return low, high
