# SPDX-License-Identifier: MIT OR Apache-2.0
"""Matrix products."""

from __future__ import annotations

from xyntra.dialects.builder import Operand, Tensor
from xyntra.dialects.dtypes import is_float
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.broadcasting import broadcast_shapes
from xyntra.frontends.onnx.node import Node, handles
from xyntra.frontends.onnx.ops.elementwise.precision import accumulator_of, cast

_BATCH = "abcdefghij"


def matrix_product(node: Node, a: Tensor, b: Tensor, accumulator: str) -> Tensor:
    """`numpy.matmul` of two tensors, in the accumulator's dtype."""
    if 0 in (a.rank, b.rank):
        raise node.invalid("scalars have no matrix product")
    if max(a.rank, b.rank) > len(_BATCH) + 2:
        raise node.unsupported(f"more than {len(_BATCH)} batch dimensions")
    left = _BATCH[len(_BATCH) - max(a.rank - 2, 0) :] + ("mk" if a.rank > 1 else "k")
    right = _BATCH[len(_BATCH) - max(b.rank - 2, 0) :] + ("kn" if b.rank > 1 else "k")
    batch = _BATCH[len(_BATCH) - max(a.rank - 2, b.rank - 2, 0) :]
    out = batch + ("m" if a.rank > 1 else "") + ("n" if b.rank > 1 else "")
    if a.shape[-1] != b.shape[-2 if b.rank > 1 else 0]:
        raise node.invalid(f"shapes {a.shape} and {b.shape} have no matrix product")
    broadcast_shapes(a.shape[:-2], b.shape[:-2])
    return node.b.einsum(f"{left},{right}->{out}", a, b, accumulator)


@handles("MatMul")
def matmul(node: Node) -> Tensor:
    a, b = node.tensor(0), node.tensor(1)
    return cast(node.b, matrix_product(node, a, b, accumulator_of(a.dtype)), a.dtype)


@handles("Gemm")
def gemm(node: Node) -> Tensor:
    a, b = node.tensor(0), node.tensor(1)
    if a.rank != 2 or b.rank != 2:
        raise node.invalid(f"shapes {a.shape} and {b.shape} are not those of matrices")
    left = "km" if node.attribute("transA", 0) else "mk"
    right = "nk" if node.attribute("transB", 0) else "kn"
    if a.shape[left.index("k")] != b.shape[right.index("k")]:
        raise node.invalid(f"shapes {a.shape} and {b.shape} have no matrix product")
    alpha, beta = float(node.attribute("alpha", 1.0)), float(node.attribute("beta", 1.0))
    if not is_float(a.dtype) and (alpha, beta) != (1, 1):
        raise node.unsupported("factors of integer products")
    product = node.b.einsum(f"{left},{right}->mn", a, b, accumulator_of(a.dtype))
    return _scale_and_add(node, product, node.optional(2), alpha, beta, a.dtype)


def _scale_and_add(
    node: Node, product: Tensor, addend: Operand | None, alpha: float, beta: float, dtype: str
) -> Tensor:
    """The sum alpha * product + beta * addend, rounded to `dtype` once."""

    def body(value: Scalar, *rest: Scalar) -> Scalar:
        result = value if alpha == 1 else value * alpha
        for more in rest:
            wide = more.cast(value.dtype)
            result = result + (wide if beta == 1 else wide * beta)
        return result.cast(dtype)

    addends = [] if addend is None or beta == 0 else [addend]
    for operand in addends:
        if broadcast_shapes(product.shape, operand.shape) != product.shape:
            raise node.invalid(f"input 2 {operand.shape} does not broadcast to {product.shape}")
    if not addends and alpha == 1:
        return cast(node.b, product, dtype)
    return node.b.map(body, product, *addends, dtype=dtype)
