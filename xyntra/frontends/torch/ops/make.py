# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tensors that are computed from no other tensor."""

from __future__ import annotations

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.torch.node import AtenNode, handles
from xyntra.frontends.torch.program import HAS_FREE_SIZE
from xyntra.frontends.weight_types import dtype_of


@handles("full", "full_like", "new_full")
def full(node: AtenNode) -> Operand:
    return _filled(node, node["fill_value"])


@handles("zeros", "zeros_like", "new_zeros")
def zeros(node: AtenNode) -> Operand:
    return _filled(node, 0)


@handles("ones", "ones_like", "new_ones")
def ones(node: AtenNode) -> Operand:
    return _filled(node, 1)


@handles("empty", "empty_like", "empty_permuted", "new_empty", "new_empty_strided")
def empty(node: AtenNode) -> Operand:
    """Zeros, although PyTorch leaves them open."""
    return _filled(node, 0)


@handles("scalar_tensor")
def scalar_tensor(node: AtenNode) -> Operand:
    return _filled(node, node["s"])


def _filled(node: AtenNode, value: float) -> Operand:
    with np.errstate(all="ignore"):
        element = np.array(value).astype(dtype_of(node.dtype))
    if not node.shape:
        return element
    return Tensor(node.b.fill(node.shape, node.dtype, element.item()), node.dtype)


def _counted(node: AtenNode, start: float, step: float, wide: str) -> Tensor:
    def body() -> Scalar:
        place = node.b.index(0).cast("int64").cast(wide)
        return (constant(start, wide) + place * constant(step, wide)).cast(node.dtype)

    return node.b.map(body, dtype=node.dtype, shape=node.shape)


@handles("arange")
def arange(node: AtenNode) -> Operand:
    """Computed in the wider type and rounded, as PyTorch does; in calls, if its size is free."""
    start = node["start"] if node.has("start") else 0
    step = node["step"] if node.has("step") else 1
    wide = np.float64 if any(isinstance(each, float) for each in (start, step)) else np.int64
    if node[HAS_FREE_SIZE]:
        return _counted(node, start, step, np.dtype(wide).name)
    counted = np.arange(node.shape[0], dtype=wide)
    return (start + counted * step).astype(dtype_of(node.dtype))
