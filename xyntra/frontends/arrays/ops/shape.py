# SPDX-License-Identifier: MIT OR Apache-2.0
"""Views, joins and copies of parts."""

from __future__ import annotations

import numpy as np

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import Scalar, constant
from xyntra.dialects.tensors.slices import concatenate, insert_slice
from xyntra.frontends.arrays.lowering import args, lowers, tensor
from xyntra.frontends.onnx.ops.elementwise.precision import cast
from xyntra.frontends.torch.node import AtenNode


@lowers("reshape")
def reshape(node: AtenNode) -> Tensor:
    return node.b.reshape(tensor(node, 0), node.shape)


@lowers("permute")
def permute(node: AtenNode) -> Tensor:
    return node.b.transpose(tensor(node, 0), node["dims"])


@lowers("flip")
def flip(node: AtenNode) -> Tensor:
    x = tensor(node, 0)
    return node.b.flip(x, [d in node["dims"] for d in range(x.rank)])


@lowers("broadcast")
def broadcast(node: AtenNode) -> Tensor:
    return node.b.broadcast_to(tensor(node, 0), node.shape)


@lowers("slice")
def slice_(node: AtenNode) -> Tensor:
    return node.b.slice(tensor(node, 0), node["starts"], node.shape, node["steps"])


@lowers("concat")
def concat(node: AtenNode) -> Tensor:
    parts = [cast(node.b, node.b.tensor(each), node.dtype) for each in args(node)]
    return concatenate(node.b, parts, node["axis"])


@lowers("update")
def update(node: AtenNode) -> Tensor:
    """The array with a part replaced: read from the new values where an element is in the part."""
    x, new, b = tensor(node, 0), tensor(node, 1), node.b
    new = b.flip(cast(b, new, x.dtype), [step < 0 for step in node["steps"]])
    triples = list(zip(node["starts"], node["steps"], new.shape, strict=True))
    starts = [start + min(step, 0) * (n - 1) for start, step, n in triples]
    steps = [abs(step) for _, step, _ in triples]
    if all(step == 1 for step in steps):
        return insert_slice(b, new, x.value, starts)

    def body(old: Scalar) -> Scalar:
        inside, places = constant(True, "bool"), []
        for d, (start, step, n) in enumerate(zip(starts, steps, new.shape, strict=True)):
            offset = b.index(d).cast("int64") - start
            place = offset / step
            held = (offset >= 0) & (place < n) & (offset - place * step).equals(0)
            inside = inside & held
            places.append(held.select(place, 0).cast("index"))
        return inside.select(b.extract(new, places), old)

    return b.map(body, x, dtype=x.dtype)


@lowers("triangle")
def triangle(node: AtenNode) -> Tensor:
    """Each matrix without what lies above (`upper`: below) the diagonal `k`."""
    x, b, k, upper = tensor(node, 0), node.b, int(node["k"]), node["upper"]

    def body(v: Scalar) -> Scalar:
        row, column = (b.index(x.rank - 2 + d).cast("int64") for d in (0, 1))
        kept = column >= row + k if upper else column <= row + k
        return kept.select(v, constant(0, x.dtype))

    return b.map(body, x, dtype=x.dtype)


@lowers("pad")
def pad(node: AtenNode) -> Tensor:
    value = np.array(node["value"]).astype(node.dtype).item()
    return node.b.pad(tensor(node, 0), node["low"], node["high"], value)
