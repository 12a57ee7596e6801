# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports operators that make sequences of tensors and take them apart.

How long a sequence is, and which element is meant, must be known when compiling.
"""

from __future__ import annotations

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.tensors.slices import concatenate
from xyntra.frontends.onnx.inputs.interface import dtype_name
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.simple import dtype_of
from xyntra.frontends.onnx.ops.tensors.joins import concat_axis
from xyntra.frontends.onnx.values import TensorSequence


def _sequence(node: Node) -> TensorSequence:
    given = node.operands[0] if node.operands else None
    if not isinstance(given, TensorSequence):
        raise node.invalid("input 0 is no sequence")
    return given


def _position(node: Node, number: int, count: int, *, insert: bool = False) -> int:
    """Input `number` as a place in a sequence of `count` elements, or behind its end."""
    place = node.constant(number)
    if place.size != 1:
        raise node.invalid("the position is not one number")
    return node.axis(int(place.item()), count, insert=insert)


@handles("SequenceEmpty")
def sequence_empty(node: Node) -> TensorSequence:
    return TensorSequence((), dtype_name(node.attribute("dtype", 1), f"node '{node.label}'"))


@handles("SequenceConstruct")
def sequence_construct(node: Node) -> TensorSequence:
    items = tuple(node.operand(number) for number in range(len(node.operands)))
    return TensorSequence(items, dtype_of(items[0]))


@handles("SequenceInsert")
def sequence_insert(node: Node) -> TensorSequence:
    sequence, item = _sequence(node), node.operand(1)
    if dtype_of(item) != sequence.element:
        raise node.invalid(f"{dtype_of(item)} goes into no sequence of {sequence.element}")
    items = list(sequence.items)
    at = _position(node, 2, len(items), insert=True) if node.has(2) else len(items)
    return TensorSequence((*items[:at], item, *items[at:]), sequence.element)


@handles("SequenceErase")
def sequence_erase(node: Node) -> TensorSequence:
    sequence = _sequence(node)
    items = list(sequence.items)
    del items[_position(node, 1, len(items)) if node.has(1) else len(items) - 1]
    return TensorSequence(tuple(items), sequence.element)


@handles("SequenceAt")
def sequence_at(node: Node) -> Operand:
    items = _sequence(node).items
    return items[_position(node, 1, len(items))]


@handles("SequenceLength")
def sequence_length(node: Node) -> np.ndarray:
    return np.array(len(_sequence(node).items), np.int64)


@handles("ConcatFromSequence")
def concat_from_sequence(node: Node) -> Tensor:
    """Joined along an axis that is there or, with `new_axis`, a new one."""
    parts = [node.b.tensor(item) for item in _sequence(node).items]
    if not parts:
        raise node.invalid("the sequence is empty")
    if node.attribute("new_axis", 0):
        rank = parts[0].rank
        at = node.axis(int(node.required("axis")), rank, insert=True)
        shapes = [(*part.shape[:at], 1, *part.shape[at:]) for part in parts]
        if len(set(shapes)) > 1:
            raise node.invalid("the elements do not have one shape")
        parts = [node.b.reshape(part, shapes[0]) for part in parts]
    return concatenate(node.b, parts, concat_axis(node, [part.shape for part in parts]))


@handles("SplitToSequence")
def split_to_sequence(node: Node) -> TensorSequence:
    """Parts of the sizes of a list, of one size with a smaller rest, or slices one by one."""
    x, b = node.tensor(0), node.b
    axis = node.axis(int(node.attribute("axis", 0)), x.rank)
    total = x.shape[axis]
    sizes = [1] * total
    if node.has(1):
        split = node.constant(1)
        step = int(split.item()) if split.ndim == 0 else 0
        if split.ndim == 0 and step < 1:
            raise node.invalid(f"parts of {step} elements")
        sizes = (
            [int(n) for n in split]
            if split.ndim
            else [min(step, total - start) for start in range(0, total, step)]
        )
    if sum(sizes) != total or min(sizes, default=0) < 0:
        raise node.invalid(f"sizes {sizes} do not split {total}")
    items: list[Operand] = []
    for number, size in enumerate(sizes):
        starts = [sum(sizes[:number]) if d == axis else 0 for d in range(x.rank)]
        shape = [size if d == axis else n for d, n in enumerate(x.shape)]
        items.append(b.slice(x, starts, shape, [1] * x.rank))
    if not node.has(1) and not node.attribute("keepdims", 1):
        shape = [n for d, n in enumerate(x.shape) if d != axis]
        items = [b.reshape(b.tensor(item), shape) for item in items]
    return TensorSequence(tuple(items), x.dtype)
