# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products; 16-bit floats accumulate in float32 and are rounded once."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast
from xyntra.frontends.torch.node import AtenNode, handles

_LETTERS = "abcdefghij"


@handles("mm")
def mm(node: AtenNode) -> Tensor:
    return _product(node, "mk,kn->mn", "self", "mat2")


@handles("bmm")
def bmm(node: AtenNode) -> Tensor:
    return _product(node, "bmk,bkn->bmn", "self", "mat2")


@handles("mv")
def mv(node: AtenNode) -> Tensor:
    return _product(node, "mk,k->m", "self", "vec")


@handles("dot")
def dot(node: AtenNode) -> Tensor:
    return _product(node, "k,k->", "self", "tensor")


def _product(node: AtenNode, equation: str, left: str, right: str) -> Tensor:
    a, b = node.tensor(left), node.tensor(right)
    return cast(node.b, node.b.einsum(equation, a, b, accumulator_of(a.dtype)), node.dtype)


@handles("addmm")
def addmm(node: AtenNode) -> Tensor:
    return _added(node, "mk,kn->mn", "mat1", "mat2")


@handles("baddbmm")
def baddbmm(node: AtenNode) -> Tensor:
    return _added(node, "bmk,bkn->bmn", "batch1", "batch2")


def _added(node: AtenNode, equation: str, left: str, right: str) -> Tensor:
    """The sum beta * self + alpha * product; with a beta of 0, NaN in `self` does not count."""
    a, b = node.tensor(left), node.tensor(right)
    alpha, beta = node["alpha"], node["beta"]
    if not is_float(node.dtype) and any(int(each) != each for each in (alpha, beta)):
        raise node.unsupported("factors of integer products that are no integers")
    product = node.b.einsum(equation, a, b, accumulator_of(a.dtype))
    addends = [node.operand("self")] if beta != 0 else []

    def body(value: Scalar, *rest: Scalar) -> Scalar:
        result = value if alpha == 1 else value * alpha
        for more in rest:
            wide = more.cast(value.dtype)
            result = result + (wide if beta == 1 else wide * beta)
        return result.cast(node.dtype)

    return node.b.map(body, product, *addends, dtype=node.dtype)


@handles("linear")
def linear(node: AtenNode) -> Tensor:
    """Input [..., K] by weight [N, K] or [K], with an optional bias [N]."""
    x, weight = node.tensor("input"), node.tensor("weight")
    if x.rank > len(_LETTERS):
        raise node.unsupported(f"an input of rank {x.rank}")
    batch = _LETTERS[: x.rank - 1]
    out = "n" if weight.rank == 2 else ""
    product = node.b.einsum(f"{batch}k,{out}k->{batch}{out}", x, weight, accumulator_of(x.dtype))
    if not node.has("bias"):
        return cast(node.b, product, node.dtype)
    return node.b.map(
        lambda v, c: (v + c.cast(v.dtype)).cast(node.dtype),
        product,
        node.operand("bias"),
        dtype=node.dtype,
    )
