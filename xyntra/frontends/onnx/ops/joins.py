# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that put tensors together or take them apart along one axis."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles


@handles("Concat")
def concat(node: Node) -> Tensor:
    parts = [node.tensor(position) for position in range(len(node.operands))]
    axis = node.axis(node.required("axis"), parts[0].rank)
    rest = [(*part.shape[:axis], *part.shape[axis + 1 :]) for part in parts]
    if any(
        part.rank != parts[0].rank or other != rest[0]
        for part, other in zip(parts, rest, strict=True)
    ):
        shapes = ", ".join(str(part.shape) for part in parts)
        raise node.invalid(f"shapes {shapes} differ in more than dimension {axis}")
    return concatenate(node.b, parts, axis)


@handles("Split")
def split(node: Node) -> list[Tensor]:
    x = node.tensor(0)
    axis = node.axis(node.attribute("axis", 0), x.rank)
    sizes = _split_sizes(node, x.shape[axis])
    starts = [sum(sizes[:position]) for position in range(len(sizes))]
    results = []
    for start, size in zip(starts, sizes, strict=True):
        shape = [size if d == axis else n for d, n in enumerate(x.shape)]
        offsets = [start if d == axis else 0 for d in range(x.rank)]
        results.append(node.b.slice(x, offsets, shape, [1] * x.rank))
    return results


def _split_sizes(node: Node, total: int) -> list[int]:
    """Sizes of the parts: as given, or equal with the last one smaller (from opset 18 on)."""
    count = len(node.proto.output)
    sizes = node.integers("split", 1)
    if sizes is not None:
        if len(sizes) != count or sum(sizes) != total or min(sizes, default=0) < 0:
            raise node.invalid(f"sizes {sizes} do not split {total} into {count} outputs")
        return sizes
    if node.attribute("num_outputs", count) != count:
        raise node.invalid("attribute 'num_outputs' is not the number of outputs")
    if total % count and node.opset < 18:
        raise node.invalid(f"{total} does not split into {count} equal parts")
    size = -(-total // count)
    return [max(min(size, total - start * size), 0) for start in range(count)]
