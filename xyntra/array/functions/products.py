# SPDX-License-Identifier: MIT OR Apache-2.0
"""Records products of arrays: matmul, tensordot, vecdot and outer."""

from __future__ import annotations

from functools import lru_cache
from math import prod
from typing import Any

from xyntra.array.arrays import Array, as_node, operand, wrap
from xyntra.array.dtypes import bool_, promote
from xyntra.array.functions.manipulation import axis_of
from xyntra.array.late import late
from xyntra.array.recorded.graph import LazyNode, Meta, meta_of
from xyntra.array.recorded.places import user_place
from xyntra.array.recorded.record import broadcast_shapes, refuse_kind
from xyntra.array.views import permute, reshape
from xyntra.errors import InputError

__all__ = ["contraction", "matmul", "matmul_nodes", "outer", "tensordot", "vecdot"]

_LETTERS = "abcdefghijopqrstuvwxyz"


def contraction(equation: str, a: LazyNode, b: LazyNode) -> LazyNode:
    """Return a contraction of two arrays, whose letters' sizes are equal or 1."""
    meta = _contracted(equation, a.meta, b.meta)
    if not a.meta.size or not b.meta.size:
        return LazyNode("full", (), (("value", 0),), meta)
    return LazyNode("einsum", (a, b), (("equation", equation),), meta)


@lru_cache(maxsize=4096)
def _contracted(equation: str, a: Meta, b: Meta) -> Meta:
    left, right, out = equation.replace("->", ",").split(",")
    sizes: dict[str, int] = {}
    for letter, size in [*zip(left, a.shape, strict=True), *zip(right, b.shape, strict=True)]:
        sizes[letter] = size if sizes.get(letter, 1) == 1 else sizes[letter]
    dtype = promote(a.dtype, b.dtype)
    if dtype is bool_:
        raise refuse_kind("a product", dtype)
    return meta_of(tuple([sizes[letter] for letter in out]), dtype)


def matmul_nodes(a: LazyNode, b: LazyNode) -> LazyNode:
    """Return the product of matrices, of the last two dimensions; vectors count as matrices.

    Raises:
        InputError: an array has rank 0, or the sizes do not fit.
    """
    return contraction(_matmul(a.meta.shape, b.meta.shape), a, b)


@lru_cache(maxsize=4096)
def _matmul(one: tuple[int, ...], two: tuple[int, ...]) -> str:
    """Return the product of arrays of these shapes as an equation."""
    inner = two[-2] if len(two) > 1 else two[0] if two else 0
    if not one or not two or one[-1] != inner:
        raise InputError(
            "array-matmul",
            f"shapes {list(one)} and {list(two)} are not multiplied",
            place=user_place(),
            cause="the last size of the first is the one before the last of the second"
            if one and two
            else "an array of rank 0 is no matrix",
        )
    left = _LETTERS[: max(len(one) - 2, 0)] if len(one) > 1 else ""
    right = _LETTERS[: max(len(two) - 2, 0)] if len(two) > 1 else ""
    rank = max(len(left), len(right))
    left, right = _LETTERS[rank - len(left) : rank], _LETTERS[rank - len(right) : rank]
    broadcast_shapes(one[: len(left)], two[: len(right)])
    m, n = "m" * (len(one) > 1), "n" * (len(two) > 1)
    return f"{left}{m}k,{right}k{n}->{_LETTERS[:rank]}{m}{n}"


def matmul(x1: Any, x2: Any, /) -> Array:
    """Return the product of matrices, or of stacks of them that broadcast."""
    return wrap(matmul_nodes(as_node(x1), as_node(x2)))


@late
def product(own: LazyNode, other: Any, reverse: bool) -> Any:
    """Return what the operator `@` makes; NotImplemented for what is no array."""
    try:
        two = operand(other)
    except InputError:
        return NotImplemented
    if two is None:
        return NotImplemented
    return wrap(matmul_nodes(two, own) if reverse else matmul_nodes(own, two))


def vecdot(x1: Any, x2: Any, /, *, axis: int = -1) -> Array:
    """Return the sums of products of elements along `axis`, counted from the end."""
    a, b = as_node(x1), as_node(x2)
    least = min(len(a.meta.shape), len(b.meta.shape))
    axis = axis_of(axis, least) - least
    nodes = []
    for node in (a, b):
        rank = len(node.meta.shape)
        order = [d for d in range(rank) if d != rank + axis]
        nodes.append(permute(node, (*order, rank + axis)))
    a, b = nodes
    if a.meta.shape[-1] != b.meta.shape[-1]:
        raise InputError(
            "array-matmul",
            f"vectors of {a.meta.shape[-1]} and {b.meta.shape[-1]} elements are not multiplied",
            place=user_place(),
        )
    broadcast_shapes(a.meta.shape, b.meta.shape)
    rank = max(len(a.meta.shape), len(b.meta.shape)) - 1
    left = _LETTERS[rank - len(a.meta.shape) + 1 : rank]
    right = _LETTERS[rank - len(b.meta.shape) + 1 : rank]
    return wrap(contraction(f"{left}k,{right}k->{_LETTERS[:rank]}", a, b))


def tensordot(x1: Any, x2: Any, /, *, axes: Any = 2) -> Array:
    """Return the sum of products over pairs of dimensions: the last and first ones, or named."""
    a, b = as_node(x1), as_node(x2)
    one, two = a.meta.shape, b.meta.shape
    if isinstance(axes, int):
        summed = [list(range(len(one) - axes, len(one))), list(range(axes))]
    else:
        summed = [
            [axis_of(each, len(shape)) for each in given]
            for given, shape in zip(axes, (one, two), strict=True)
        ]
    if [one[d] for d in summed[0]] != [two[d] for d in summed[1]]:
        raise InputError(
            "array-matmul",
            f"shapes {list(one)} and {list(two)} do not fit in the dimensions {axes}",
            place=user_place(),
        )
    kept = [
        [d for d in range(len(s)) if d not in u] for s, u in zip((one, two), summed, strict=True)
    ]
    inner = prod(one[d] for d in summed[0])
    left = reshape(permute(a, (*kept[0], *summed[0])), (prod(one[d] for d in kept[0]), inner))
    right = reshape(permute(b, (*summed[1], *kept[1])), (inner, prod(two[d] for d in kept[1])))
    found = contraction("mk,kn->mn", left, right)
    return wrap(reshape(found, (*(one[d] for d in kept[0]), *(two[d] for d in kept[1]))))


def outer(x1: Any, x2: Any, /) -> Array:
    """Return the products of all pairs of elements of two vectors."""
    a, b = as_node(x1), as_node(x2)
    return wrap(contraction("m,n->mn", a, b))
