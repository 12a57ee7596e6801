# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for the gradients of views, joins, indices, reductions, scans and products."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.autograd.registry import BackwardStep, rule, rules, spread, summed_to, zeros_of
from xyntra.array.dtypes import int64
from xyntra.array.functions import elementwise as e
from xyntra.array.functions.creation import arange
from xyntra.array.functions.indexing import put_along_axis, take_along_axis
from xyntra.array.functions.manipulation import flip, part, permute_dims, reshape
from xyntra.array.functions.products import contraction
from xyntra.array.functions.reductions import cumulative_prod, cumulative_sum
from xyntra.array.functions.reductions import sum as sum_of
from xyntra.array.functions.searching import argsort
from xyntra.array.recorded.graph import LazyNode, meta_of
from xyntra.array.views import broadcast, slice_, update

Gradients = Sequence["Array | None"]


rules(
    reshape=lambda s: reshape(s.g, s.args[0].shape),
    permute=lambda s: permute_dims(s.g, [s.attr("dims").index(d) for d in range(s.g.ndim)]),
    flip=lambda s: flip(s.g, axis=s.attr("dims")),
    broadcast=lambda s: summed_to(s.g, s.args[0].shape),
    triangle=lambda s: wrap(LazyNode("triangle", (node_of(s.g),), s.node.attrs, s.g._node.meta)),
)


@rule("slice")
def slice_gradient(step: BackwardStep) -> Gradients:
    (x,) = step.args
    found = update(node_of(zeros_of(x)), node_of(step.g), step.attr("starts"), step.attr("steps"))
    return (wrap(found),)


@rule("update")
def update_gradient(step: BackwardStep) -> Gradients:
    _, value = step.args
    starts, steps = step.attr("starts"), step.attr("steps")
    g = node_of(step.g)
    rest = update(g, node_of(zeros_of(value)), starts, steps)
    return wrap(rest), wrap(slice_(g, starts, value.shape, steps))


@rule("concat")
def concat_gradient(step: BackwardStep) -> Gradients:
    axis, start, found = step.attr("axis"), 0, []
    for each in step.args:
        own = part(node_of(step.g), axis, start, each.shape[axis])
        found.append(wrap(own).astype(each.dtype, copy=False))
        start += each.shape[axis]
    return found


@rule("pad")
def pad_gradient(step: BackwardStep) -> Gradients:
    (x,) = step.args
    return (wrap(slice_(node_of(step.g), step.attr("low"), x.shape, (1,) * x.ndim)),)


@rule("gather")
def gather_gradient(step: BackwardStep) -> Gradients:
    x, *places = step.args
    attrs = (("dims", step.attr("dims")), ("accumulate", True))
    nodes = (node_of(zeros_of(x)), node_of(step.g), *map(node_of, places))
    return wrap(LazyNode("put", nodes, attrs, x._node.meta)), *[None for _ in places]


@rule("put")
def put_gradient(step: BackwardStep) -> Gradients:
    """Differentiate a write of values to places.

    Where several values were written to one place, only the last one has a gradient. Which one it
    was is found by writing the values' numbers in the same way and reading them back.
    """
    x, value, *places = step.args
    own, g = [node_of(each) for each in places], node_of(step.g)
    read = LazyNode("gather", (g, *own), (("dims", step.attr("dims")),), value._node.meta)
    rest, slope = g, wrap(read)
    if not step.attr("accumulate"):
        rest = LazyNode("put", (g, node_of(zeros_of(value)), *own), step.node.attrs, x._node.meta)
        numbers = reshape(arange(value.size), value.shape)
        meta = meta_of(x.shape, int64)
        nodes = (LazyNode("full", (), (("value", 0),), meta), node_of(numbers), *own)
        written = LazyNode("put", nodes, step.node.attrs, meta)
        last = LazyNode("gather", (written, *own), read.attrs, numbers._node.meta)
        slope = e.where(e.equal(wrap(last), numbers), slope, 0.0)
    return wrap(rest), slope, *[None for _ in places]


@rule("take_along")
def take_along_gradient(step: BackwardStep) -> Gradients:
    x, places = step.args
    found = put_along_axis(zeros_of(x), places, step.g, axis=step.attr("axis"), accumulate=True)
    return found, None


@rule("put_along")
def put_along_gradient(step: BackwardStep) -> Gradients:
    """Differentiate a write along one dimension; see `put_gradient`."""
    _, places, _ = step.args
    axis = step.attr("axis")
    read = take_along_axis(step.g, places, axis=axis)
    rest = step.g
    if not step.attr("accumulate"):
        rest = put_along_axis(step.g, places, 0.0, axis=axis)
        numbers = reshape(arange(places.size), places.shape)
        blank = wrap(LazyNode("full", (), (("value", 0),), meta_of(step.out.shape, int64)))
        written = put_along_axis(blank, places, numbers, axis=axis)
        last = take_along_axis(written, places, axis=axis)
        read = e.where(e.equal(last, numbers), read, 0.0)
    return rest, None, read


@rule("sort")
def sort_gradient(step: BackwardStep) -> Gradients:
    (x,) = step.args
    axis = step.attr("axis")
    places = argsort(x, axis=axis, descending=step.attr("descending"))
    return (put_along_axis(zeros_of(x), places, step.g, axis=axis),)


@rule("top_k")
def top_k_gradient(step: BackwardStep) -> Gradients:
    (x,) = step.args
    places = LazyNode(
        "top_k_places", step.node.args, step.node.attrs, meta_of(step.out.shape, int64)
    )
    return (put_along_axis(zeros_of(x), wrap(places), step.g, axis=step.attr("axis")),)


@rule("sum")
def sum_gradient(step: BackwardStep) -> Gradients:
    return (spread(step.g, step.attr("axes"), step.args[0].shape),)


@rule("mean")
def mean_gradient(step: BackwardStep) -> Gradients:
    (x,) = step.args
    count = prod(x.shape[d] for d in step.attr("axes"))
    return (spread(step.g * (1.0 / count), step.attr("axes"), x.shape),)


@rule("max", "min")
def extreme_gradient(step: BackwardStep) -> Gradients:
    """Equal extremes share the gradient."""
    (x,), axes = step.args, step.attr("axes")
    chosen = e.equal(x, spread(step.out, axes, x.shape)).astype(x.dtype)
    count = sum_of(chosen, axis=axes, keepdims=True)
    return (spread(step.g, axes, x.shape) * chosen / count,)


@rule("prod")
def prod_gradient(step: BackwardStep) -> Gradients:
    """Products of all other elements, without a division: elements may be 0."""
    (x,), axes = step.args, step.attr("axes")
    rest = [d for d in range(x.ndim) if d not in axes]
    order = [*rest, *axes]
    moved = permute_dims(x, order)
    rows = reshape(moved, (*[x.shape[d] for d in rest], prod(x.shape[d] for d in axes)))
    before = cumulative_prod(rows, axis=-1, include_initial=True)[..., :-1]
    turned = cumulative_prod(flip(rows, axis=-1), axis=-1, include_initial=True)[..., :-1]
    others = reshape(before * flip(turned, axis=-1), moved.shape)
    back = permute_dims(others, [order.index(d) for d in range(x.ndim)])
    return (spread(step.g, axes, x.shape) * back,)


@rule("cumulative_sum")
def cumulative_sum_gradient(step: BackwardStep) -> Gradients:
    axis = step.attr("axis")
    return (flip(cumulative_sum(flip(step.g, axis=axis), axis=axis), axis=axis),)


@rule("cumulative_prod")
def cumulative_prod_gradient(step: BackwardStep) -> Gradients:
    """By a division: at elements that are 0 it is not finite."""
    axis = step.attr("axis")
    total = cumulative_sum(flip(step.g * step.out, axis=axis), axis=axis)
    return (flip(total, axis=axis) / step.args[0],)


@rule("softmax")
def softmax_gradient(step: BackwardStep) -> Gradients:
    axis = step.attr("axis")
    inner = sum_of(step.g * step.out, axis=axis, keepdims=True)
    return (step.out * (step.g - inner),)


@rule("log_softmax")
def log_softmax_gradient(step: BackwardStep) -> Gradients:
    total = sum_of(step.g, axis=step.attr("axis"), keepdims=True)
    return (step.g - e.exp(step.out) * total,)


@rule("einsum")
def einsum_gradient(step: BackwardStep) -> Gradients:
    left, right, out = step.attr("equation").replace("->", ",").split(",")
    x, y = (each.astype(step.g.dtype, copy=False) for each in step.args)
    pairs = ((left, right, y, step.args[0]), (right, left, x, step.args[1]))
    found = []
    for own, other, factor, operand in pairs:
        known = [letter for letter in own if letter in out or letter in other]
        node = contraction(f"{out},{other}->{''.join(known)}", node_of(step.g), node_of(factor))
        if len(known) < len(own):  # letters of this operand alone, which were summed
            shape = iter(node.meta.shape)
            single = tuple(next(shape) if letter in known else 1 for letter in own)
            node = node_of(reshape(wrap(node), single))
            node = broadcast(
                node,
                tuple(
                    n if letter in known else m
                    for letter, n, m in zip(own, single, operand.shape, strict=True)
                ),
            )
        found.append(summed_to(wrap(node), operand.shape).astype(operand.dtype, copy=False))
    return found
