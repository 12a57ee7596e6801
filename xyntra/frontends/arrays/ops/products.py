# SPDX-License-Identifier: MIT OR Apache-2.0
"""Contractions of two arrays; 16-bit floats accumulate in float32 and are rounded once."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.frontends.arrays.lowering import lowers, tensor
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode


@lowers("einsum")
def einsum(node: AtenNode) -> Tensor:
    """Letters that the result lacks are summed over; a dimension of size 1 broadcasts."""
    b = node.b
    x, y = (cast(b, tensor(node, place), node.dtype) for place in (0, 1))
    found = b.einsum(node["equation"], x, y, accumulator_of(node.dtype))
    return cast(b, found, node.dtype)
