# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reading and writing at positions that arrays hold.

Positions are in range: those that are known are checked when they are recorded, negative ones
count from the end, and others read the nearest element and write nothing.
"""

from __future__ import annotations

from typing import Any

from xyntra.dialects.builder import Tensor
from xyntra.frontends.arrays.lowering import args, by_aten, lowers, tensor
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode


def _places(node: AtenNode, rank: int, given: list[Tensor]) -> list[Tensor | None]:
    """Return an index for each dimension of the array, None for those without one."""
    found: list[Tensor | None] = [None] * rank
    for d, each in zip(node["dims"], given, strict=True):
        found[d] = cast(node.b, each, "int64")
    return found[: max(node["dims"]) + 1]


@lowers("gather")
def gather(node: AtenNode) -> Any:
    """Numpy's advanced indexing: indices of the dimensions `dims` broadcast against each other."""
    x, *given = (node.b.tensor(each) for each in args(node))
    return by_aten(node, "index", self=x, indices=_places(node, x.rank, given))


@lowers("put")
def put(node: AtenNode) -> Any:
    """Where several elements go to one place, the last one counts, or all are added."""
    x, values, *given = (node.b.tensor(each) for each in args(node))
    return by_aten(
        node,
        "index_put",
        self=x,
        indices=_places(node, x.rank, given),
        values=values,
        accumulate=node["accumulate"],
    )


@lowers("take_along")
def take_along(node: AtenNode) -> Any:
    x, index = tensor(node, 0), tensor(node, 1)
    return by_aten(node, "gather", self=x, index=cast(node.b, index, "int64"), dim=node["axis"])


@lowers("put_along")
def put_along(node: AtenNode) -> Any:
    x, index, values = (tensor(node, place) for place in range(3))
    return by_aten(
        node,
        "scatter_add" if node["accumulate"] else "scatter",
        self=x,
        index=cast(node.b, index, "int64"),
        src=values,
        dim=node["axis"],
    )
