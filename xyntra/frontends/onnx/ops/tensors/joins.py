# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operators that put tensors together or take them apart along one axis."""

from __future__ import annotations

from collections.abc import Sequence

from xyntra.dialects.builder import Tensor
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.node import Node, handles


def concat_axis(node: Node, shapes: Sequence[tuple[int, ...]]) -> int:
    """The axis of a Concat of tensors of `shapes`, which must fit each other."""
    axis = node.axis(node.required("axis"), len(shapes[0]))
    rest = [(*shape[:axis], *shape[axis + 1 :]) for shape in shapes]
    if any(len(shape) != len(shapes[0]) for shape in shapes) or len(set(rest)) > 1:
        listed = ", ".join(map(str, shapes))
        raise node.invalid(f"shapes {listed} differ in more than dimension {axis}")
    return axis


@handles("Concat")
def concat(node: Node) -> Tensor:
    parts = [node.tensor(position) for position in range(len(node.operands))]
    if node.states.is_joined(parts[0]) and len(parts) == 2:
        return _appended(node, *parts)
    return concatenate(node.b, parts, concat_axis(node, [part.shape for part in parts]))


def _appended(node: Node, state: Tensor, new: Tensor) -> Tensor:
    """An input with room for more, and `new` behind what it holds: another input says how much.

    What stands behind that is not there for the model, whose masks hide it. One position at a time
    needs no order among the new ones, which the model would take from the length of the past.
    """
    states, axis = node.states, node.axis(node.required("axis"), state.rank)
    expected = tuple(1 if d == axis else n for d, n in enumerate(state.shape))
    if axis == 0 or states.length is None or new.shape != expected:
        raise node.unsupported(
            f"an append of {new.shape} to a cache of {state.shape}",
            hint="one position of every sequence can be appended at a time",
        )
    return states.appended(node.b, state, new, states.length, axis)


@handles("Split")
def split(node: Node) -> list[Tensor]:
    x = node.tensor(0)
    axis, ranges = split_ranges(node, x.shape)
    results = []
    for start, size in ranges:
        shape = [size if d == axis else n for d, n in enumerate(x.shape)]
        offsets = [start if d == axis else 0 for d in range(x.rank)]
        results.append(node.b.slice(x, offsets, shape, [1] * x.rank))
    return results


def split_ranges(node: Node, source: tuple[int, ...]) -> tuple[int, list[tuple[int, int]]]:
    """The axis of a Split, and where each part starts and how long it is."""
    axis = node.axis(node.attribute("axis", 0), len(source))
    sizes = _split_sizes(node, source[axis])
    return axis, [(sum(sizes[:position]), size) for position, size in enumerate(sizes)]


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
