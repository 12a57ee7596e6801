# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rules for the gradients of convolutions, poolings and attention."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from xyntra.array.arrays import Array, node_of, wrap
from xyntra.array.autograd.registry import BackwardStep, rule, summed_to
from xyntra.array.dtypes import bool_
from xyntra.array.functions.creation import ones, tril
from xyntra.array.functions.elementwise import where
from xyntra.array.functions.manipulation import repeat
from xyntra.array.functions.reductions import softmax
from xyntra.array.functions.reductions import sum as sum_of
from xyntra.array.recorded.graph import LazyNode

Gradients = Sequence["Array | None"]


def _node(op: str, step: BackwardStep, meta_like: Array, *arrays: Array) -> Array:
    nodes = tuple(node_of(each) for each in arrays)
    return wrap(LazyNode(op, nodes, step.node.attrs, meta_like._node.meta))


@rule("conv")
def convolution(step: BackwardStep) -> Gradients:
    x, w = step.args
    return (
        _node("conv_input_gradient", step, x, step.g, x, w),
        _node("conv_weight_gradient", step, w, step.g, x, w),
    )


@rule("conv_input_gradient")
def convolution_input_gradient(step: BackwardStep) -> Gradients:
    upstream, _, w = step.args
    return (
        _node("conv", step, upstream, step.g, w),
        None,
        _node("conv_weight_gradient", step, w, upstream, step.g, w),
    )


@rule("conv_weight_gradient")
def convolution_weight_gradient(step: BackwardStep) -> Gradients:
    upstream, x, _ = step.args
    return (
        _node("conv", step, upstream, x, step.g),
        _node("conv_input_gradient", step, x, upstream, x, step.g),
        None,
    )


@rule("max_pool")
def max_pool(step: BackwardStep) -> Gradients:
    (x,) = step.args
    return (_node("max_pool_gradient", step, x, step.g, x),)


@rule("avg_pool")
def average_pool(step: BackwardStep) -> Gradients:
    (x,) = step.args
    return (_node("avg_pool_gradient", step, x, step.g, x),)


@rule("avg_pool_gradient")
def average_pool_gradient(step: BackwardStep) -> Gradients:
    return _node("avg_pool", step, step.args[0], step.g), None


@rule("attention")
def attention(step: BackwardStep) -> Gradients:
    """By the weights, which are computed again."""
    q, k, v, *rest = step.args
    groups = q.shape[-3] // k.shape[-3] if step.attr("grouped") else 1
    keys, values = (repeat(each, groups, axis=-3) if groups > 1 else each for each in (k, v))
    scale: Any = step.attr("scale")
    scale = q.shape[-1] ** -0.5 if scale is None else scale
    scores = (q @ keys.mT) * scale
    if step.attr("causal"):
        allowed = tril(ones(scores.shape[-2:])).astype(bool_)
        scores = where(allowed, scores, float("-inf"))
    for mask in rest:
        boolean = mask.dtype is bool_
        scores = where(mask, scores, float("-inf")) if boolean else scores + mask
    weights = softmax(scores, axis=-1)
    of_weights = step.g @ values.mT
    inner = sum_of(of_weights * weights, axis=-1, keepdims=True)
    of_scores = weights * (of_weights - inner)
    found: list[Array | None] = [
        summed_to((of_scores @ keys) * scale, q.shape),
        _grouped((of_scores.mT @ q) * scale, k.shape, groups),
        _grouped(weights.mT @ step.g, v.shape, groups),
    ]
    for mask in rest:
        found.append(None if mask.dtype is bool_ else summed_to(of_scores, mask.shape))
    return found


def _grouped(g: Array, shape: tuple[int, ...], groups: int) -> Array:
    """Return the gradient of heads that several heads of the query share."""
    if groups > 1:
        g = sum_of(g.reshape((*shape[:-2], groups, *shape[-2:])), axis=-3)
    return summed_to(g, shape)
