# SPDX-License-Identifier: MIT OR Apache-2.0
"""Slices with constant bounds."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.node import Node, handles


@handles("Slice")
def slice_(node: Node) -> Tensor:
    x = node.tensor(0)
    spans = slice_spans(node, x.shape)
    starts, sizes, steps = ([span[part] for span in spans] for part in range(3))
    return node.b.slice(x, starts, sizes, steps)


def slice_spans(node: Node, source: tuple[int, ...]) -> list[tuple[int, int, int]]:
    """First position, number of elements and step of a Slice in every dimension."""
    starts, ends = node.integers("starts", 1), node.integers("ends", 2)
    if starts is None or ends is None:
        raise node.invalid("starts and ends are needed")
    axes, steps = node.integers("axes", 3), node.integers("steps", 4)
    axes = list(range(len(starts))) if axes is None else axes
    axes = [node.axis(axis, len(source)) for axis in axes]
    steps = [1] * len(starts) if steps is None else steps
    if not len(starts) == len(ends) == len(axes) == len(steps) or len(set(axes)) < len(axes):
        raise node.invalid("starts, ends, axes and steps do not fit each other")
    if 0 in steps:
        raise node.invalid("a step is 0")
    spans = [(0, size, 1) for size in source]
    for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
        spans[axis] = (*clamp_slice(start, end, step, source[axis]), step)
    return spans


def clamp_slice(start: int, end: int, step: int, size: int) -> tuple[int, int]:
    """Return where a slice begins and how many elements it takes, by ONNX's clamping rules."""
    start += size if start < 0 else 0
    end += size if end < 0 else 0
    if step > 0:
        start, end = min(max(start, 0), size), min(max(end, 0), size)
    else:
        start, end = min(max(start, 0), size - 1), min(max(end, -1), size - 1)
    count = -((start - end) // step)
    return (start, count) if count > 0 else (0, 0)
