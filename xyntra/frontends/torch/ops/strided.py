# SPDX-License-Identifier: MIT OR Apache-2.0
"""Views by strides of memory, of tensors that are all of their memory."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.frontends.torch.node import AtenNode, handles

_MOST_GATHERED = 1 << 16
"""Elements of a view that is no rearrangement; their positions are a constant of the program."""


@handles("as_strided", "as_strided_copy")
def as_strided(node: AtenNode) -> Tensor:
    flat, offset, b = _memory(node, node.tensor("self")), _offset(node), node.b
    sizes = [int(each) for each in node["size"]]
    strides = [int(each) for each in node["stride"]]
    if 0 in sizes:
        return b.reshape(b.slice(flat, [0], [0], [1]), sizes)
    narrow = [1 if stride == 0 else size for size, stride in zip(sizes, strides, strict=True)]
    order = _dense_order(narrow, strides)
    count = int(np.prod(narrow, dtype=np.int64))
    if order is not None and offset + count <= flat.shape[0]:
        part = b.slice(flat, [offset], [count], [1])
        laid = b.reshape(part, [narrow[d] for d in order])
        found = b.transpose(laid, [order.index(d) for d in range(len(order))])
        return b.broadcast_to(found, sizes)
    if count > _MOST_GATHERED:
        raise node.unsupported(f"a view of {sizes} with strides {strides}")
    places = np.full(narrow, offset, np.int64)
    for axis, (size, stride) in enumerate(zip(narrow, strides, strict=True)):
        steps = np.arange(size) * stride
        places += steps.reshape([-1 if d == axis else 1 for d in range(len(narrow))])
    return b.broadcast_to(node.by_onnx("Gather", flat, places, axis=0)[0], sizes)


@handles("as_strided_scatter")
def as_strided_scatter(node: AtenNode) -> Tensor:
    """Lay the source out as the tensor, all of which the view has to be."""
    x, source, b = node.tensor("self"), node.tensor("src"), node.b
    strides = [int(each) for each in node["stride"]]
    order = _dense_order(source.shape, strides)
    if order is None or _offset(node) or np.prod(source.shape) != np.prod(x.shape):
        raise node.unsupported("a view of a part of the tensor")
    memory = _order_of(node)
    laid = b.reshape(b.transpose(source, order), [x.shape[d] for d in memory])
    return b.transpose(laid, [memory.index(d) for d in range(x.rank)])


def _memory(node: AtenNode, x: Tensor) -> Tensor:
    """Return the elements of a tensor in the order of its memory."""
    laid = node.b.transpose(x, _order_of(node))
    return node.b.reshape(laid, [int(np.prod(x.shape, dtype=np.int64))])


def _order_of(node: AtenNode) -> list[int]:
    order: list[int] | None = node["memory_order"]
    if order is None:
        raise node.unsupported("a view of a tensor that is not all of its memory")
    return order


def _offset(node: AtenNode) -> int:
    return int(node["storage_offset"] or 0)


def _dense_order(sizes: Sequence[int], strides: Sequence[int]) -> list[int] | None:
    """Return the dimensions from the outermost in memory to the innermost; None with gaps."""
    narrow = [d for d, size in enumerate(sizes) if size == 1]
    wide = sorted((d for d in range(len(sizes)) if d not in narrow), key=lambda d: -strides[d])
    step = 1
    for d in reversed(wide):
        if strides[d] != step:
            return None
        step *= sizes[d]
    return [*narrow, *wide]
