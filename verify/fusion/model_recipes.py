# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recipes of random graphs: what recognition looks for, spelled out in single operations."""

from __future__ import annotations

from collections.abc import Callable
from math import pi, prod

from verify.fusion.maker import GraphMaker
from xyntra.dialects.dtypes import is_float

__all__ = ["RECIPES"]

_WORK = 1 << 18


def _row_input(m: GraphMaker) -> int | None:
    return m.pick(lambda k: len(k.shape) > 0 and is_float(k.dtype) and 0 not in k.shape)


def _mean(m: GraphMaker, x: int) -> int:
    last = len(m.known[x].shape) - 1
    total = m.op("reduction", x, kind="sum", axes=[last], keepdims=True)
    return m.op("scalar", total, name="mul", value=1 / max(m.known[x].shape[last], 1))


def _norm(m: GraphMaker) -> None:
    """Layer norm or RMS norm, with or without scale and bias."""
    x = _row_input(m)
    if x is None:
        return
    shape, dtype = m.known[x].shape, m.known[x].dtype
    if m.random.random() < 0.6:
        x = m.op("sub", x, _mean(m, x))
    squares = m.op("square", x) if m.random.random() < 0.5 else m.op("mul", x, x)
    spread = m.op("scalar", _mean(m, squares), name="add", value=2.0**-10)
    if m.random.random() < 0.5:
        y = m.op("div", x, m.op("sqrt", spread))
    else:
        y = m.op("mul", x, m.op("rsqrt", spread))
    if m.random.random() < 0.7:
        y = m.op("mul", y, m.leaf(shape[-1:], dtype, "parameter"))
        if m.random.random() < 0.7:
            m.op("add", y, m.leaf(shape[-1:], dtype, "parameter"))


def _gelu_tanh(m: GraphMaker) -> None:
    x = m.pick(lambda k: is_float(k.dtype))
    if x is None:
        return
    cube = m.op("mul", m.op("mul", x, x), x)
    inner = m.op("add", x, m.op("scalar", cube, name="mul", value=0.044715))
    inner = m.op("tanh", m.op("scalar", inner, name="mul", value=(2 / pi) ** 0.5))
    half = m.op("scalar", x, name="mul", value=0.5)
    m.op("mul", half, m.op("scalar", inner, name="add", value=1.0))


def _attention(m: GraphMaker) -> None:
    """Scaled dot-product attention over heads, with its projections or without."""
    x = m.pick(lambda k: len(k.shape) == 3 and is_float(k.dtype) and 0 < prod(k.shape) < 2048)
    if x is None:
        x = m.leaf((m.random.choice((1, 2)), m.random.choice((3, 8)), 8), "float32", "input")
    batch, length, width = m.known[x].shape
    heads = 2 if width % 2 == 0 else 1
    if batch * length * width * max(width, length) > _WORK:
        return
    queries, keys, values = (_heads(m, x, heads) for _ in range(3))
    if m.random.random() < 0.3:
        queries = m.op("scalar", queries, name="mul", value=0.5)
    scores = m.op("einsum", queries, keys, equation="abmk,abnk->abmn")
    if m.random.random() < 0.6:
        scores = m.op("scalar", scores, name="mul", value=(width // heads) ** -0.5)
    mixed = m.op("einsum", _weights(m, scores), values, equation="abmn,abnk->abmk")
    if m.random.random() < 0.7:
        merged = m.op("transpose", mixed, permutation=[0, 2, 1, 3])
        m.op("reshape", merged, shape=(batch, length, width))


def _heads(m: GraphMaker, x: int, heads: int) -> int:
    """`x`, or a projection of it, as [batch, heads, length, width / heads]."""
    batch, length, width = m.known[x].shape
    dtype = m.known[x].dtype
    if m.random.random() < 0.6:
        w = m.leaf((width, width), dtype, "parameter")
        x = m.op("einsum", x, w, equation="amk,kn->amn")
        if m.random.random() < 0.6:
            x = m.op("add", x, m.leaf((width,), dtype, "parameter"))
    split = m.op("reshape", x, shape=(batch, length, heads, width // heads))
    return m.op("transpose", split, permutation=[0, 2, 1, 3])


def _weights(m: GraphMaker, scores: int) -> int:
    """The softmax of masked `scores`."""
    shape, dtype = m.known[scores].shape, m.known[scores].dtype
    masked = m.random.random()
    mask_shape = (m.random.choice((1, shape[0])), 1, m.random.choice((1, shape[2])), shape[3])
    if masked < 0.3:
        scores = m.op("add", scores, m.leaf(mask_shape, dtype, "input"))
    elif masked < 0.5:
        low = m.op("scalar", m.leaf((1, 1, 1, 1), dtype, "input"), name="min", value=-1e4)
        scores = m.op("select", m.leaf(mask_shape, "bool", "input"), scores, low)
    if m.random.random() < 0.4:
        return m.op("named", scores, name="softmax", axis=3, epsilon=0.0)
    top = m.op("reduction", scores, kind="max", axes=[3], keepdims=True)
    powers = m.op("exp", m.op("sub", scores, top))
    return m.op("div", powers, m.op("reduction", powers, kind="sum", axes=[3], keepdims=True))


RECIPES: dict[Callable[[GraphMaker], object], int] = {_norm: 5, _gelu_tanh: 2, _attention: 5}
"""Each with how often it is taken."""
