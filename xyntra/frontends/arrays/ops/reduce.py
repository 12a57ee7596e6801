# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reductions, scans and sorting; dimensions are given in full, and never empty."""

from __future__ import annotations

from typing import Any

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.arrays.lowering import by_aten, lowers, name_of, tensor
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode
from xyntra.frontends.torch.program import AtenTensor

_ATEN = {
    "sum": "sum", "prod": "prod", "mean": "mean", "max": "amax", "min": "amin",
    "any": "any", "all": "all",
}  # fmt: skip
"""Reductions that PyTorch has, by the name that it gives them."""


@lowers(*_ATEN)
def reduced(node: AtenNode) -> Any:
    x = tensor(node, 0)
    if not x.rank:
        return cast(node.b, x, node.dtype)
    axes, keep = list(node["axes"]), node["keepdims"]
    if not axes:
        return cast(node.b, x, node.dtype)
    return by_aten(node, _ATEN[name_of(node)], self=x, dim=axes, keepdim=keep)


@lowers("argmax", "argmin")
def place_of_extreme(node: AtenNode) -> Any:
    """The first place; that of a NaN, where there is one."""
    x = tensor(node, 0)
    return by_aten(node, name_of(node), self=x, dim=node["axis"], keepdim=node["keepdims"])


@lowers("cumulative_sum")
def cumulative_sum(node: AtenNode) -> Any:
    return by_aten(node, "cumsum", self=tensor(node, 0), dim=node["axis"])


@lowers("cumulative_prod")
def cumulative_product(node: AtenNode) -> Any:
    return by_aten(node, "cumprod", self=tensor(node, 0), dim=node["axis"])


def _sorted(node: AtenNode, count: int, descending: bool) -> Any:
    x = tensor(node, 0)
    flags = x.dtype == "bool"
    x = cast(node.b, x, "uint8") if flags else x
    shape = list(x.shape)
    shape[node["axis"]] = count
    results = [AtenTensor(x.dtype, tuple(shape)), AtenTensor("int64", tuple(shape))]
    found = by_aten(
        node, "topk", results, self=x, k=count, dim=node["axis"], largest=descending, sorted=True
    )
    return [cast(node.b, found[0], "bool"), found[1]] if flags else found


@lowers("sort")
def sort(node: AtenNode) -> Tensor:
    found: Tensor = _sorted(node, node.shape[node["axis"]], node["descending"])[0]
    return found


@lowers("argsort")
def argsort(node: AtenNode) -> Tensor:
    """Equal elements keep their order."""
    found: Tensor = _sorted(node, node.shape[node["axis"]], node["descending"])[1]
    return found


@lowers("top_k", "top_k_places")
def top_k(node: AtenNode) -> Tensor:
    which = int(name_of(node) == "top_k_places")
    found: Tensor = _sorted(node, node.shape[node["axis"]], node["largest"])[which]
    return found


@lowers("softmax", "log_softmax")
def softmax(node: AtenNode) -> Any:
    return by_aten(node, f"_{name_of(node)}", self=tensor(node, 0), dim=node["axis"])


@lowers("searchsorted")
def searchsorted(node: AtenNode) -> Tensor:
    """The number of elements of a sorted vector that lie below; NaN lies above all."""
    bounds, x, b = tensor(node, 0), tensor(node, 1), node.b
    right, wide = node["right"], node["compute"]

    def below(v: Scalar, bound: Scalar) -> Scalar:
        v, bound = v.cast(wide), bound.cast(wide)
        return (~((bound > v) if right else (bound >= v))).cast("int64")

    column = b.reshape(x, [*x.shape, 1])
    flags = b.map(below, column, bounds, dtype="int64", shape=[*x.shape, *bounds.shape])
    return b.reduce(flags, [x.rank], "sum", keepdims=False)
