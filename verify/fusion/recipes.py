# SPDX-License-Identifier: MIT OR Apache-2.0
"""Recipes of random graphs: elementwise operations, views and data movement."""

from __future__ import annotations

from collections.abc import Callable
from math import prod
from random import Random

import numpy as np

from verify.fusion.maker import LARGEST, GraphMaker
from verify.fusion.scalars import BINARY, COMPARISONS, UNARY, kind_of
from verify.fusion.values import Known
from xyntra.dialects.dtypes import is_float

__all__ = ["RECIPES"]

_CASTS = ("float32", "float64", "float16", "bfloat16", "int32", "int64", "bool")


def _unary(m: GraphMaker) -> None:
    x = m.pick()
    names = [
        n for n, op in UNARY.items() if x is not None and kind_of(m.known[x].dtype) in op.kinds
    ]
    if x is not None and names:
        m.op(m.random.choice(names), x)


def _chain(m: GraphMaker) -> None:
    for _ in range(m.random.randint(2, 4)):
        m.random.choice((_unary, _scalar))(m)


def _scalar(m: GraphMaker) -> None:
    x = m.pick(lambda k: k.dtype != "bool")
    if x is None:
        return
    dtype = m.known[x].dtype
    names = [n for n, op in BINARY.items() if kind_of(dtype) in op.kinds]
    value = m.random.choice((-3, 2, 5) if not is_float(dtype) else (-1.25, 0.5, 0.1, 2.0))
    m.op("scalar", x, name=m.random.choice(names), value=value)


def _partner(m: GraphMaker, x: int) -> int:
    """A value that broadcasts with `x`: an earlier one, or a new leaf."""
    shape, dtype = m.known[x].shape, m.known[x].dtype
    if m.random.random() < 0.6:
        other = m.pick(lambda k: k.dtype == dtype and _broadcasts(k.shape, shape))
        if other is not None and (other != x or m.random.random() < 0.3):
            return other
    kept = [n if m.random.random() < 0.6 else 1 for n in shape]
    return m.leaf(kept[m.random.choice((0, 0, m.random.randint(0, len(kept)))) :], dtype)


def _broadcasts(a: tuple[int, ...], b: tuple[int, ...]) -> bool:
    try:
        return prod(np.broadcast_shapes(a, b)) <= LARGEST
    except ValueError:
        return False


def _binary(m: GraphMaker) -> None:
    x = m.pick()
    if x is None:
        return
    kind = kind_of(m.known[x].dtype)
    pair = [x, _partner(m, x)]
    m.random.shuffle(pair)
    names = [n for n, op in BINARY.items() if kind in op.kinds]
    if m.random.random() < 0.12 and kind != "bool":
        names = list(COMPARISONS)
    m.op(m.random.choice(names), *pair)


def _select(m: GraphMaker) -> None:
    x = m.pick()
    if x is None:
        return
    shape = m.known[x].shape
    condition = m.pick(lambda k: k.dtype == "bool" and _broadcasts(k.shape, shape))
    condition = m.leaf(shape, "bool", "input") if condition is None else condition
    other = _partner(m, x)
    shapes = [m.known[i].shape for i in (condition, x, other)]
    if _broadcasts(tuple(np.broadcast_shapes(shapes[1], shapes[2])), shapes[0]):
        m.op("select", condition, x, other)


def _cast(m: GraphMaker) -> None:
    x = m.pick()
    if x is not None:
        m.op("cast", x, dtype=m.random.choice([d for d in _CASTS if d != m.known[x].dtype]))


def _transpose(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 1)
    if x is not None:
        order = list(range(len(m.known[x].shape)))
        m.random.shuffle(order)
        m.op("transpose", x, permutation=order)


def _reshape(m: GraphMaker) -> None:
    x = m.pick()
    if x is None:
        return
    shape = list(m.known[x].shape)
    choice = m.random.randrange(4)
    if choice == 0 and len(shape) > 1:
        at = m.random.randrange(len(shape) - 1)
        shape[at : at + 2] = [shape[at] * shape[at + 1]]
    elif choice == 1 and len(shape) < 5:
        shape.insert(m.random.randint(0, len(shape)), 1)
    elif choice == 2 and any(n > 2 and n % 2 == 0 for n in shape) and len(shape) < 5:
        at = m.random.choice([i for i, n in enumerate(shape) if n > 2 and n % 2 == 0])
        shape[at : at + 1] = [2, shape[at] // 2]
    else:
        shape = [prod(shape)]
    m.op("reshape", x, shape=tuple(shape))


def _expand(m: GraphMaker) -> None:
    x = m.pick(lambda k: 1 in k.shape or len(k.shape) < 4)
    if x is None:
        return
    shape = [m.random.choice((2, 3, 7)) if n == 1 else n for n in m.known[x].shape]
    if m.random.random() < 0.4 and len(shape) < 5:
        shape.insert(0, m.random.choice((1, 2, 3)))
    if prod(shape) <= LARGEST:
        m.op("expand", x, shape=tuple(shape))


def _slice(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0)
    if x is None:
        return
    spec = [_range(m.random, n) for n in m.known[x].shape]
    starts, sizes, steps = zip(*spec, strict=True)
    m.op("slice", x, starts=starts, sizes=sizes, steps=steps)


def _range(random: Random, size: int) -> tuple[int, int, int]:
    if size < 2 or random.random() < 0.5:
        return 0, size, 1
    step = random.choice((1, 1, 1, 2, 3, -1, -2))
    count = random.randint(1, (size - 1) // abs(step) + 1)
    reach = (count - 1) * abs(step)
    low = random.randint(0, size - 1 - reach)
    return (low if step > 0 else low + reach), count, step


def _split(m: GraphMaker) -> None:
    """Two halves of one value, and an operation on both."""
    x = m.pick(lambda k: len(k.shape) > 0 and k.shape[-1] % 2 == 0 and k.shape[-1] > 0)
    if x is None:
        return
    shape = m.known[x].shape
    half, ones = (*shape[:-1], shape[-1] // 2), (1,) * len(shape)
    first = m.op("slice", x, starts=(0,) * len(shape), sizes=half, steps=ones)
    starts = (*(0,) * (len(shape) - 1), half[-1])
    second = m.op("slice", x, starts=starts, sizes=half, steps=ones)
    if m.random.random() < 0.5:
        m.op("concatenation", second, first, axis=len(shape) - 1)
    else:
        names = [n for n, op in BINARY.items() if kind_of(m.known[x].dtype) in op.kinds]
        m.op(m.random.choice(names), first, second)


def _pad(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0)
    if x is None:
        return
    rank = len(m.known[x].shape)
    low = [m.random.choice((0, 0, 1, 2)) for _ in range(rank)]
    high = [m.random.choice((0, 0, 1, 3)) for _ in range(rank)]
    m.op("pad", x, low=low, high=high, value=m.random.choice((0, 0, 1)))


def _concatenation(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0)
    if x is None:
        return
    shape, dtype = m.known[x].shape, m.known[x].dtype
    axis = m.random.randrange(len(shape))

    def fits(k: Known) -> bool:
        if len(k.shape) != len(shape) or k.dtype != dtype:
            return False
        return k.shape[:axis] == shape[:axis] and k.shape[axis + 1 :] == shape[axis + 1 :]

    parts = [x, m.pick(fits), m.pick(fits)][: m.random.randint(2, 3)]
    found = [part for part in parts if part is not None]
    m.random.shuffle(found)
    m.op("concatenation", *found, axis=axis)


def _gather(m: GraphMaker) -> None:
    x = m.pick(lambda k: len(k.shape) > 0 and 0 not in k.shape)
    if x is None:
        return
    axis = m.random.randrange(len(m.known[x].shape))
    indices = m.indices((m.random.choice((1, 3, 8)),), m.known[x].shape[axis])
    m.op("gather", x, indices, axis=axis)


def _more(m: GraphMaker) -> None:
    m.leaf(m.shape(), m.dtype, "input")


RECIPES: dict[Callable[[GraphMaker], object], int] = {
    _unary: 10, _chain: 8, _scalar: 6, _binary: 18, _select: 3, _cast: 4, _transpose: 5,
    _reshape: 6, _expand: 3, _slice: 4, _split: 3, _pad: 3, _concatenation: 4, _gather: 2, _more: 2,
}  # fmt: skip
"""Each with how often it is taken."""
