# SPDX-License-Identifier: MIT OR Apache-2.0
"""Convolutions and transposed convolutions."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Tensor
from xyntra.dialects.tensors.convolution import convolve, convolve_transposed
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, add_channel_bias
from xyntra.frontends.onnx.ops.nn.window import (
    auto_pad_of,
    kernel_of_weight,
    read_window,
    spatial_attribute,
)


def check_operands(node: Node, x: Tensor, weight: Tensor, channel_axis: int) -> int:
    """The number of groups, once the shapes of input and weight are known to fit.

    Args:
        node: a convolution.
        x: the input, [N, C, *spatial].
        weight: its dimension `channel_axis` counts the input channels of one group, or of all
            groups where it is the first.
        channel_axis: 1 for convolutions, 0 for transposed ones.
    """
    if x.rank < 3 or weight.rank != x.rank:
        raise node.invalid(f"input {x.shape} and weight {weight.shape} do not fit")
    groups = int(node.attribute("group", 1))
    if groups < 1 or weight.shape[0] % groups:
        raise node.invalid(
            f"{weight.shape[0]} channels of the weight do not split into {groups} groups"
        )
    expected = weight.shape[channel_axis] * (groups if channel_axis else 1)
    if x.shape[1] != expected:
        raise node.invalid(
            f"the input has {x.shape[1]} channels, the weight {weight.shape} is for {expected}"
        )
    return groups


@handles("Conv")
def conv(node: Node) -> Tensor:
    return convolution(node)


def convolution(node: Node) -> Tensor:
    """Input [N, C, *spatial] and weight [M, C / groups, *kernel], with an optional bias [M]."""
    x, weight = node.tensor(0), node.tensor(1)
    groups = check_operands(node, x, weight, channel_axis=1)
    window = read_window(node, x.shape[2:], kernel_of_weight(node, weight.shape))
    if 0 in window.output:
        shape = [x.shape[0], weight.shape[0], *window.output]
        return Tensor(node.b.empty(shape, x.dtype), x.dtype)
    result = convolve(
        node.b,
        window.pad(node.b, x, 0),
        weight,
        strides=window.strides,
        dilations=window.dilations,
        groups=groups,
        accumulator=accumulator_of(x.dtype),
    )
    return add_channel_bias(node, result, 2, x.dtype)


@handles("ConvTranspose")
def conv_transpose(node: Node) -> Tensor:
    x, weight = node.tensor(0), node.tensor(1)
    groups = check_operands(node, x, weight, channel_axis=0)
    kernel = kernel_of_weight(node, weight.shape)
    strides = spatial_attribute(node, "strides", len(kernel), 1, 1)
    dilations = spatial_attribute(node, "dilations", len(kernel), 1, 1)
    extents = [
        stride * (size - 1) + dilation * (taps - 1) + 1
        for size, taps, stride, dilation in zip(
            x.shape[2:], kernel, strides, dilations, strict=True
        )
    ]
    starts, sizes = _crop(node, x.shape[2:], extents, strides)
    found, starts = convolve_transposed(
        node.b,
        x,
        weight,
        strides=strides,
        dilations=dilations,
        groups=groups,
        accumulator=accumulator_of(x.dtype),
        starts=starts,
        sizes=sizes,
    )
    result = add_channel_bias(node, found, 2, x.dtype)
    shape = [*result.shape[:2], *sizes]
    return node.b.slice(result, [0, 0, *starts], shape, [1] * result.rank)


def _crop(
    node: Node, inputs: Sequence[int], extents: Sequence[int], strides: Sequence[int]
) -> tuple[list[int], list[int]]:
    """First position and size of the part of the full result that the node asks for."""
    rank, mode = len(inputs), auto_pad_of(node)
    extra = spatial_attribute(node, "output_padding", rank, 0, 0)
    totals = [extent + more for extent, more in zip(extents, extra, strict=True)]
    wanted = node.attribute("output_shape")
    if wanted is not None:
        # Older exporters give batch and channels as well.
        wanted = [int(size) for size in wanted[-rank:]]
    elif mode.startswith("SAME"):
        wanted = [size * stride for size, stride in zip(inputs, strides, strict=True)]
    if wanted is None:
        pads = node.attribute("pads") or [0] * (2 * rank)
        if len(pads) != 2 * rank or min(pads) < 0:
            raise node.invalid(f"attribute 'pads' must have {2 * rank} integers >= 0, got {pads}")
        pads = [0] * (2 * rank) if mode == "VALID" else pads
        starts = pads[:rank]
        wanted = [totals[i] - pads[i] - pads[i + rank] for i in range(rank)]
    else:
        # One more input would add a stride; anything less is a partial stride of zeros.
        limits = [total + stride for total, stride in zip(totals, strides, strict=True)]
        if len(wanted) != rank or any(a >= n for a, n in zip(wanted, limits, strict=True)):
            raise node.invalid(f"the spatial shape {wanted} is more than all there is, {totals}")
        cut = [max(total - size, 0) for total, size in zip(totals, wanted, strict=True)]
        starts = [total // 2 if mode == "SAME_UPPER" else total - total // 2 for total in cut]
    if len(wanted) != rank or min(wanted) < 1:
        raise node.invalid(f"the result would have the spatial shape {wanted}")
    return starts, wanted
