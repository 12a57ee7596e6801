# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.frontends.onnx.node import Node, handles

_BATCH = "abcdefghij"


@handles("MatMul")
def matmul(node: Node) -> Tensor:
    a, b = node.tensor(0), node.tensor(1)
    if 0 in (a.rank, b.rank):
        raise node.invalid("scalars have no matrix product")
    left = _BATCH[len(_BATCH) - max(a.rank - 2, 0) :] + ("mk" if a.rank > 1 else "k")
    right = _BATCH[len(_BATCH) - max(b.rank - 2, 0) :] + ("kn" if b.rank > 1 else "k")
    batch = _BATCH[len(_BATCH) - max(a.rank - 2, b.rank - 2, 0) :]
    out = batch + ("m" if a.rank > 1 else "") + ("n" if b.rank > 1 else "")
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        raise node.invalid(f"shapes {a.shape} and {b.shape} have no matrix product")
    return node.b.einsum(f"{left},{right}->{out}", a, b)
