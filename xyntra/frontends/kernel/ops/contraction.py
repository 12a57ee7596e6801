# SPDX-License-Identifier: MIT OR Apache-2.0
"""Imports contractions of any number of operands."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.frontends.kernel.registry import imports
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode

__all__: list[str] = []


@imports("einsum")
def einsum(node: AtenNode) -> Tensor:
    """Sums in the accumulator of the operands' dtype, rounded to that of the result once."""
    b, equation = node.b, str(node["equation"])
    operands = [b.tensor(each) for each in node["operands"]]
    if _is_plain(equation, len(operands)):
        wide = accumulator_of(node.dtype if node.dtype == "float64" else operands[0].dtype)
        return cast(b, b.einsum(equation, operands[0], operands[1], wide), node.dtype)
    found = node.by_onnx("Einsum", *operands, equation=equation)[0]
    return cast(b, found, node.dtype)


def _is_plain(equation: str, count: int) -> bool:
    """Tell whether a contraction has two operands that name each dimension once."""
    terms, _, out = equation.partition("->")
    names = terms.split(",")
    if count != 2 or "." in equation or any(len(set(each)) != len(each) for each in names):
        return False
    alone = set(names[0]) ^ set(names[1])
    return alone <= set(out)
