# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recipes of random graphs: reductions, contractions and what stands around them in models."""

from __future__ import annotations

from collections.abc import Callable
from math import prod

from verify.fusion.maker import GraphMaker
from xyntra.dialects.dtypes import is_float

__all__ = ["RECIPES"]

WORK = 1 << 19
"""Multiplications of one contraction."""


def _axes(m: GraphMaker, rank: int) -> list[int]:
    if m.random.random() < 0.6:
        return [rank - 1]
    if m.random.random() < 0.3:
        return list(range(m.random.randrange(rank), rank))
    return sorted(m.random.sample(range(rank), m.random.randint(1, rank)))


def _reduction(m: GraphMaker) -> int | None:
    x = m.pick(lambda k: len(k.shape) > 0)
    if x is None:
        return None
    dtype = m.known[x].dtype
    kind = m.random.choice(("max", "min") if dtype == "bool" else ("sum", "sum", "max", "min"))
    axes = _axes(m, len(m.known[x].shape))
    result = m.op("reduction", x, kind=kind, axes=axes, keepdims=m.random.random() < 0.6)
    if kind == "sum" and is_float(dtype) and m.random.random() < 0.5:
        count = max(prod(m.known[x].shape[axis] for axis in axes), 1)
        result = m.op("scalar", result, name="mul", value=1 / count)
    return result


def _centre(m: GraphMaker) -> None:
    """A reduction, and the reduced values combined with it: a row kernel written by hand."""
    x = m.pick(lambda k: len(k.shape) > 0 and k.dtype != "bool")
    if x is None:
        return
    kind = m.random.choice(("sum", "max"))
    axes = _axes(m, len(m.known[x].shape))
    reduced = m.op("reduction", x, kind=kind, axes=axes, keepdims=True)
    x = m.op(m.random.choice(("sub", "max", "mul")), x, reduced)
    if is_float(m.known[x].dtype) and m.random.random() < 0.5:
        x = m.op("tanh", x)
    if m.random.random() < 0.4:
        m.op("add", x, m.op("reduction", x, kind="sum", axes=axes, keepdims=True))


def _softmax(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0 and is_float(k.dtype) and 0 not in k.shape)
    if x is None:
        return
    axis = [m.random.choice((len(m.known[x].shape) - 1, m.random.randrange(len(m.known[x].shape))))]
    shifted = m.op("sub", x, m.op("reduction", x, kind="max", axes=axis, keepdims=True))
    powers = m.op("exp", shifted)
    m.op("div", powers, m.op("reduction", powers, kind="sum", axes=axis, keepdims=True))


def _arg_max(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0 and 0 not in k.shape and k.dtype != "bool")
    if x is not None:
        m.op("arg_max", x, axis=m.random.randrange(len(m.known[x].shape)))


def _named(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0 and is_float(k.dtype) and 0 not in k.shape)
    if x is None:
        return
    shape, dtype = m.known[x].shape, m.known[x].dtype
    name = m.random.choice(("softmax", "log_softmax", "layer_norm", "rms_norm", "gelu", "silu"))
    rest = []
    if name in ("layer_norm", "rms_norm"):
        axis = m.random.choice((len(shape) - 1, m.random.randrange(len(shape))))
        count = m.random.randint(0, 2 if name == "layer_norm" else 1)
        rest = [m.leaf(shape[axis:], dtype, "parameter") for _ in range(count)]
    else:
        axis = m.random.randrange(len(shape))
    m.op("named", x, *rest, name=name, axis=axis, epsilon=2.0**-10)


def _matmul(m: GraphMaker) -> int | None:
    x = m.pick(lambda k: 2 <= len(k.shape) <= 4 and is_float(k.dtype) and prod(k.shape) < 4096)
    if x is None:
        return None
    *batch, rows, depth = m.known[x].shape
    columns = m.random.choice(m.sizes)
    if prod((*batch, rows, depth, columns)) > WORK:
        return None
    names = "abc"[: len(batch)]
    shared = bool(batch) and m.random.random() < 0.5
    lead = "" if shared else names
    turned = m.random.random() < 0.3
    right = f"{lead}{'nk' if turned else 'kn'}"
    sizes = dict(zip(names, batch, strict=True)) | {"k": depth, "n": columns}
    w = m.leaf([sizes[c] for c in right], m.known[x].dtype, m.random.choice(("parameter", "input")))
    return m.op("einsum", x, w, equation=f"{names}mk,{right}->{names}mn")


def _linear(m: GraphMaker) -> None:
    """A matrix product with bias, activation and residual behind it."""
    y = _matmul(m)
    if y is None:
        return
    shape, dtype = m.known[y].shape, m.known[y].dtype
    y = m.op("add", y, m.leaf(shape[-1:], dtype, "parameter"))
    if m.random.random() < 0.6:
        y = m.op(m.random.choice(("relu", "tanh", "sigmoid", "erf")), y)
    if m.random.random() < 0.5:
        other = m.pick(lambda k: k.shape == shape and k.dtype == dtype)
        if other is not None:
            m.op("add", y, other)


def _siblings(m: GraphMaker) -> None:
    """Matrix products that share an operand, and what reads them."""
    x = m.pick(lambda k: len(k.shape) == 2 and is_float(k.dtype) and prod(k.shape) < 2048)
    if x is None:
        return
    depth = m.known[x].shape[1]
    columns = m.random.choice(m.sizes)
    found = []
    for _ in range(m.random.randint(2, 3)):
        w = m.leaf((depth, columns), m.known[x].dtype, "parameter")
        y = m.op("einsum", x, w, equation="mk,kn->mn")
        if m.random.random() < 0.7:
            y = m.op("add", y, m.leaf((columns,), m.known[x].dtype, "parameter"))
        found.append(y)
    if m.random.random() < 0.5:
        scores = m.op("einsum", found[0], found[1], equation="mk,nk->mn")
        scores = m.op("scalar", scores, name="mul", value=0.125)
        weights = m.op("named", scores, name="softmax", axis=1, epsilon=0.0)
        m.op("einsum", weights, found[-1], equation="mk,kn->mn")


def _gelu(m: GraphMaker) -> None:
    """GELU and SiLU in single operations."""
    x = m.pick(lambda k: is_float(k.dtype))
    if x is None:
        return
    if m.random.random() < 0.4:
        m.op("mul", x, m.op("sigmoid", x))
        return
    inner = m.op("erf", m.op("scalar", x, name="mul", value=0.5**0.5))
    inner = m.op("scalar", inner, name="add", value=1.0)
    m.op("scalar", m.op("mul", x, inner), name="mul", value=0.5)


def _convolution(m: GraphMaker) -> None:
    """A convolution with a scale, a shift and an activation behind it."""
    x = m.pick(lambda k: len(k.shape) == 4 and is_float(k.dtype) and 0 not in k.shape)
    if x is None:
        shape = (1, m.random.choice((1, 2, 3, 4)), m.random.choice((5, 8, 9)), 7)
        x = m.leaf(shape, "float32", "input")
    _, channels, height, width = m.known[x].shape
    groups = m.random.choice((1, 1, channels))
    outputs = groups * m.random.choice((1, 2, 3))
    taps = (min(height, m.random.choice((1, 2, 3))), min(width, m.random.choice((1, 3))))
    if prod(m.known[x].shape) * outputs * prod(taps) > WORK:
        return
    dtype = m.known[x].dtype
    w = m.leaf((outputs, channels // groups, *taps), dtype, "parameter")
    strides = m.random.choice(((1, 1), (2, 2), (1, 2)))
    y = m.op("convolution", x, w, strides=strides, groups=groups)
    if m.random.random() < 0.7:
        y = m.op("mul", y, m.leaf((outputs, 1, 1), dtype, "parameter"))
        y = m.op("add", y, m.leaf((outputs, 1, 1), dtype, "parameter"))
    if m.random.random() < 0.5:
        m.op("relu", y)


def _pool(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) == 4 and is_float(k.dtype) and 0 not in k.shape)
    if x is None:
        return
    kernel = tuple(min(n, m.random.choice((1, 2, 3))) for n in m.known[x].shape[2:])
    strides = m.random.choice(((1, 1), (2, 2)))
    m.op("pool", x, kernel=kernel, strides=strides, kind=m.random.choice(("max", "sum")))


RECIPES: dict[Callable[[GraphMaker], object], int] = {
    _reduction: 8, _centre: 6, _softmax: 3, _arg_max: 2, _named: 5, _matmul: 3, _linear: 6,
    _siblings: 3, _gelu: 2, _convolution: 3, _pool: 2,
}  # fmt: skip
"""Each with how often it is taken."""
