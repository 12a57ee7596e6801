# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slices with constant bounds."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.node import Node, handles


@handles("Slice")
def slice_(node: Node) -> Tensor:
    x = node.tensor(0)
    starts, ends = node.integers("starts", 1), node.integers("ends", 2)
    if starts is None or ends is None:
        raise node.invalid("starts and ends are needed")
    given = node.integers("axes", 3)
    axes = [node.axis(a, x.rank) for a in given] if given is not None else list(range(len(starts)))
    steps = node.integers("steps", 4) or [1] * len(starts)
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(set(axes)) != len(axes):
        raise node.invalid("starts, ends, axes and steps do not fit each other")
    if 0 in steps or max(axes, default=0) >= max(x.rank, 1):
        raise node.invalid(f"axes {axes} or steps {steps} are out of range")
    first, sizes, strides = [0] * x.rank, list(x.shape), [1] * x.rank
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        first[axis], sizes[axis] = clamp_slice(start, end, step, x.shape[axis])
        strides[axis] = step
    return node.b.slice(x, first, sizes, strides)


def clamp_slice(start: int, end: int, step: int, size: int) -> tuple[int, int]:
    """Where a slice begins and how many elements it takes, by ONNX's clamping rules."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    count = -((start - end) // step)
    return (start, count) if count > 0 else (0, 0)
