# SPDX-License-Identifier: MIT OR Apache-2.0
"""Makers of operators that read, write or find by index."""

from __future__ import annotations

import math

import numpy as np
from onnx import TensorProto

from verify.random_graphs.models.builder import Builder, Ref, Reject
from verify.random_graphs.models.registry import maker

__all__: list[str] = []

_I64 = TensorProto.INT64


def _indices(g: Builder, shape: tuple[int, ...], size: int, *, negative: bool = True) -> Ref:
    if size == 0:
        raise Reject("no index is valid")
    low = -size if negative and g.opset >= 11 and g.chance(0.4) else 0
    values = g.rng.integers(low, size, shape)
    elem = g.choice((TensorProto.INT32, _I64))
    if g.chance(0.5) or g.closed or len(g.inputs) >= 12:
        return g.constant(values, elem)
    ref = g.input(shape, elem, "positive")
    g.scope.values[ref.name].array[...] = values
    ref.array[...] = values
    return ref


@maker("gather", 3)
def _gather(g: Builder) -> None:
    x = g.pick(g.allowed("Gather", 0), low=1)
    axis = g.integer(0, x.rank - 1)
    index = _indices(g, g.shape(0, 2), x.shape[axis])
    g.node("Gather", [x, index], axis=axis - x.rank * (g.opset >= 11 and g.chance(0.3)))


@maker("gather_elements", 1.5)
def _gather_elements(g: Builder) -> None:
    x = g.pick(g.allowed("GatherElements", 0), low=1)
    axis = g.integer(0, x.rank - 1)
    shape = tuple(
        g.dimension() if i == axis else g.integer(1, n) if n else 0 for i, n in enumerate(x.shape)
    )
    g.node("GatherElements", [x, _indices(g, shape, x.shape[axis])], axis=axis)


@maker("gather_nd", 1.5)
def _gather_nd(g: Builder) -> None:
    x = g.pick(g.allowed("GatherND", 0), low=1)
    batch = g.integer(0, x.rank - 1) if g.opset >= 12 and g.chance(0.4) else 0
    depth = g.integer(1, x.rank - batch)
    lead = (*x.shape[:batch], *g.shape(0, 2))
    if 0 in x.shape:
        raise Reject("no index is valid")
    columns = [g.rng.integers(0, x.shape[batch + d], lead) for d in range(depth)]
    index = g.constant(np.stack(columns, -1), _I64)
    g.node("GatherND", [x, index], batch_dims=batch or None)


@maker("scatter", 2)
def _scatter(g: Builder) -> None:
    op = g.choice(("ScatterElements", "ScatterND"))
    x = g.pick(g.allowed(op, 0), low=1)
    reductions = [None, None]
    if g.opset >= 16 and x.elem != TensorProto.BOOL:
        reductions += ["add", "mul"] + ["max", "min"] * (g.opset >= 18)
    reduction = g.choice(reductions)
    if not x.array.size:
        raise Reject("nothing to write to")
    if op == "ScatterElements":
        axis = g.integer(0, x.rank - 1)
        shape = tuple(g.integer(1, n) for n in x.shape)
        if reduction:
            index = g.rng.integers(-x.shape[axis], x.shape[axis], shape)
        else:
            order = np.argsort(
                g.rng.random(
                    tuple(
                        n if i == axis else s
                        for i, (n, s) in enumerate(zip(x.shape, shape, strict=True))
                    )
                ),
                axis,
            )
            index = np.take(order, range(shape[axis]), axis)
        updates = (
            g.weight(shape, x.elem)
            if g.chance(0.5)
            else g.pick((x.elem,), where=lambda r: r.shape == shape)
        )
        g.node(op, [x, g.constant(index, _I64), updates], axis=axis, reduction=reduction)
        return
    depth = g.integer(1, x.rank)
    places = math.prod(x.shape[:depth])
    count = g.integer(1, min(places, 8))
    flat = g.rng.integers(0, places, count) if reduction else g.rng.permutation(places)[:count]
    index = np.stack(np.unravel_index(flat, x.shape[:depth]), -1)
    updates = g.weight((count, *x.shape[depth:]), x.elem)
    g.node(op, [x, g.constant(index, _I64), updates], reduction=reduction)


@maker("arg_extreme", 2)
def _arg_extreme(g: Builder) -> None:
    op = g.choice(("ArgMax", "ArgMin"))
    x = g.pick(
        g.allowed(op, 0),
        low=1,
        where=lambda r: bool(r.array.size) and not np.isnan(r.array.astype(float)).any(),
    )
    axis = g.integer(0 if g.opset < 11 else -x.rank, x.rank - 1)
    last = g.choice((None, 0, 1)) if g.opset >= 12 else None
    g.node(op, [x], axis=axis, keepdims=g.choice((None, 0, 1)), select_last_index=last)


@maker("top_k", 1.5)
def _top_k(g: Builder) -> None:
    x = g.pick(
        g.allowed("TopK", 0),
        low=1,
        where=lambda r: bool(r.array.size) and not np.isnan(r.array.astype(float)).any(),
    )
    axis = g.integer(0, x.rank - 1)
    k = g.integer(1, x.shape[axis])
    if g.opset < 10:
        g.node("TopK", [x], 2, axis=axis, k=k)
        return
    largest = g.choice((None, 0, 1)) if g.opset >= 11 else None
    g.node("TopK", [x, g.integers([k])], 2, axis=axis, largest=largest)


@maker("one_hot", 1)
def _one_hot(g: Builder) -> None:
    x = g.pick(
        g.allowed("OneHot", 0),
        high=3,
        where=lambda r: bool(np.isfinite(r.array.astype(float)).all()),
    )
    depth = g.integers(g.integer(1, 9))
    values = g.constant(
        np.array([0, 1]) if g.chance(0.5) else np.array([3, -1]),
        g.choice((g.style.float_type, _I64, TensorProto.INT32)),
    )
    g.node(
        "OneHot",
        [x, depth, values],
        axis=g.choice((None, g.integer(-x.rank - 1 if g.opset >= 11 else 0, x.rank))),
    )


@maker("reverse_sequence", 0.6)
def _reverse(g: Builder) -> None:
    x = g.pick(g.allowed("ReverseSequence", 0), low=2, where=lambda r: bool(r.array.size))
    time = g.integer(0, 1)
    lengths = g.integers([g.integer(1, x.shape[time]) for _ in range(x.shape[1 - time])])
    g.node("ReverseSequence", [x, lengths], time_axis=time, batch_axis=1 - time)


@maker("compress", 0.5)
def _compress(g: Builder) -> None:
    x = g.pick(g.allowed("Compress", 0), low=1, where=lambda r: bool(r.array.size))
    axis = g.integer(0, x.rank - 1)
    kept = g.rng.random(x.shape[axis]) < 0.6
    if not kept.any():
        raise Reject("nothing is kept")
    g.node("Compress", [x, g.constant(kept, TensorProto.BOOL)], axis=axis)


@maker("tensor_scatter", 0.4)
def _tensor_scatter(g: Builder) -> None:
    cache = g.pick(g.allowed("TensorScatter", 0), 3, 4, where=lambda r: bool(r.array.size))
    axis = cache.rank - 2
    length = g.integer(1, cache.shape[axis])
    shape = tuple(length if i == axis else n for i, n in enumerate(cache.shape))
    write = g.integers([g.integer(0, cache.shape[axis] - length) for _ in range(cache.shape[0])])
    g.node("TensorScatter", [cache, g.weight(shape, cache.elem), write])
