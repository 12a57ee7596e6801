# SPDX-License-Identifier: MIT OR Apache-2.0
"""Layer norm and RMS norm, written out.

The variance is that of the population: divided by the number of elements, not by one less.
"""

from __future__ import annotations

from math import inf
from struct import pack, unpack

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.passes.recognize.matching.pattern import (
    Axis,
    Match,
    MatchBuilder,
    Number,
    Term,
    pattern,
    power,
    reduce_mean,
    rsqrt,
    square,
)


def _normalises_rows(match: Match) -> bool:
    """Tell whether trailing dimensions are normalised, with weights that vary along these only."""
    if not match.whole("x") or match.first_of_trailing("axis") is None:
        return False
    epsilon = match.number("epsilon")
    # The attribute is an f32: an epsilon of f64 that it cannot hold would be another number.
    if epsilon < 0 or (match.root.element == "f64" and _as_f32(epsilon) != epsilon):
        return False
    weights = [name for name in ("scale", "bias") if match.has(name)]
    return all(match.varies_only_along(name, match.axis("axis")) for name in weights)


def _as_f32(value: float) -> float:
    """`value`, rounded; infinite where it is too large."""
    try:
        rounded: float = unpack("f", pack("f", value))[0]
    except OverflowError:
        return inf
    return rounded


def _normal(x: Term, axis: Axis, epsilon: Number) -> Term:
    centred = x - reduce_mean(x, axis)
    return centred * rsqrt(reduce_mean(square(centred), axis) + epsilon)


@pattern(where=_normalises_rows)
def layer_norm(x: Term, axis: Axis, epsilon: Number, scale: Term, bias: Term) -> Term:
    """With both weights."""
    return _normal(x, axis, epsilon) * scale + bias


@layer_norm.spelling
def layer_norm_scaled(x: Term, axis: Axis, epsilon: Number, scale: Term) -> Term:
    """With a scale only."""
    return _normal(x, axis, epsilon) * scale


@layer_norm.spelling
def layer_norm_shifted(x: Term, axis: Axis, epsilon: Number, bias: Term) -> Term:
    """With a bias only."""
    return _normal(x, axis, epsilon) + bias


@layer_norm.spelling
def layer_norm_plain(x: Term, axis: Axis, epsilon: Number) -> Term:
    """Without weights."""
    return _normal(x, axis, epsilon)


@layer_norm.spelling
def layer_norm_affine(x: Term, axis: Axis, epsilon: Number, scale: Term, bias: Term) -> Term:
    """As one multiplication and one addition an element, as TensorFlow exports it."""
    mean = reduce_mean(x, axis)
    factor = scale * rsqrt(reduce_mean(square(x - mean), axis) + epsilon)
    return x * factor + (bias - mean * factor)


@layer_norm.spelling
def layer_norm_half_power(x: Term, axis: Axis, epsilon: Number, scale: Term, bias: Term) -> Term:
    """The root as a power; what is under it is not negative, where the two would differ."""
    centred = x - reduce_mean(x, axis)
    root = power(reduce_mean(square(centred), axis) + epsilon, 0.5)
    return centred / root * scale + bias


@layer_norm.build
def build_layer_norm(
    b: MatchBuilder,
    x: Tensor,
    axis: tuple[int, ...],
    epsilon: float,
    scale: Tensor | None,
    bias: Tensor | None,
) -> Tensor:
    """The named op."""
    return named.layer_norm(b, x, min(axis), epsilon, scale, bias)


@pattern(where=_normalises_rows)
def rms_norm(x: Term, axis: Axis, epsilon: Number, scale: Term) -> Term:
    """With a scale."""
    return x * rsqrt(reduce_mean(square(x), axis) + epsilon) * scale


@rms_norm.spelling
def rms_norm_plain(x: Term, axis: Axis, epsilon: Number) -> Term:
    """Without a scale."""
    return x * rsqrt(reduce_mean(square(x), axis) + epsilon)


@rms_norm.build
def build_rms_norm(
    b: MatchBuilder, x: Tensor, axis: tuple[int, ...], epsilon: float, scale: Tensor | None
) -> Tensor:
    """The named op."""
    return named.rms_norm(b, x, min(axis), epsilon, scale)
