# SPDX-License-Identifier: MIT OR Apache-2.0
"""Arrays that are computed from no other array."""

from __future__ import annotations

import numpy as np

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar, constant
from xyntra.frontends.arrays.lowering import lowers
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.weight_types import dtype_of


@lowers("full")
def full(node: AtenNode) -> Operand:
    with np.errstate(all="ignore"):
        element = np.array(node["value"]).astype(dtype_of(node.dtype))
    if not node.shape:
        return element
    return Tensor(node.b.fill(node.shape, node.dtype, element.item()), node.dtype)


@lowers("arange")
def arange(node: AtenNode) -> Tensor:
    """The elements `start + i * step`, in the widest type of their kind and rounded once."""
    b, start, step = node.b, node["start"], node["step"]
    wide = "float64" if is_float(node.dtype) else "int64"

    def body() -> Scalar:
        place = b.index(0).cast("int64").cast(wide)
        kind = float if wide == "float64" else int
        return (place * kind(step) + kind(start)).cast(node.dtype)

    return b.map(body, dtype=node.dtype, shape=node.shape)


@lowers("linspace")
def linspace(node: AtenNode) -> Tensor:
    """The last element is the end itself, where it is wanted."""
    b, start, stop = node.b, float(node["start"]), float(node["stop"])
    (count,) = node.shape
    parts = max(count - 1, 1) if node["endpoint"] else count
    step = (stop - start) / parts

    def body() -> Scalar:
        place = b.index(0).cast("int64")
        value = place.cast("float64") * step + start
        if node["endpoint"] and count > 1:
            value = place.equals(count - 1).select(constant(stop, "float64"), value)
        return value.cast(node.dtype)

    return b.map(body, dtype=node.dtype, shape=node.shape)


@lowers("eye")
def eye(node: AtenNode) -> Tensor:
    """Ones on the diagonal `k` columns to the right of the main one."""
    b, k = node.b, int(node["k"])

    def body() -> Scalar:
        row, column = b.index(0).cast("int64"), b.index(1).cast("int64")
        return (row + k).equals(column).cast(node.dtype)

    return b.map(body, dtype=node.dtype, shape=node.shape)
