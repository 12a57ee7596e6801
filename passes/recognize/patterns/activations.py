# SPDX-License-Identifier: MIT OR Apache-2.0
"""Activation functions, written out."""

from __future__ import annotations

from math import pi

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.passes.recognize.matching.pattern import (
    Match,
    MatchBuilder,
    Term,
    erf,
    exp,
    pattern,
    sqrt,
    tanh,
)


def _elementwise(match: Match) -> bool:
    return match.whole("x")


@pattern(where=_elementwise)
def gelu(x: Term) -> Term:
    """X times the normal distribution's cumulative function."""
    return 0.5 * x * (1 + erf(x / sqrt(2.0)))


@gelu.spelling
def gelu_distributed(x: Term) -> Term:
    """The half multiplied into the sum."""
    return x * (0.5 + 0.5 * erf(x / sqrt(2.0)))


@gelu.spelling
def gelu_expanded(x: Term) -> Term:
    """Multiplied out."""
    return 0.5 * x + 0.5 * x * erf(x / sqrt(2.0))


@gelu.build
def build_gelu(b: MatchBuilder, x: Tensor) -> Tensor:
    """The named op."""
    return named.gelu(b, x)


@pattern(where=_elementwise)
def gelu_tanh(x: Term) -> Term:
    """The approximation of gelu by tanh; the cube is a power or products."""
    return 0.5 * x * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


@gelu_tanh.spelling
def gelu_tanh_factored(x: Term) -> Term:
    """One factor x taken out of the cubic."""
    return 0.5 * x * (1 + tanh(sqrt(2 / pi) * x * (1 + 0.044715 * x**2)))


@gelu_tanh.spelling
def gelu_tanh_scaled(x: Term) -> Term:
    """The scale multiplied into the cubic."""
    scale = sqrt(2 / pi)
    return 0.5 * x * (1 + tanh(scale * x + scale * 0.044715 * x**3))


@gelu_tanh.spelling
def gelu_tanh_scaled_factored(x: Term) -> Term:
    """The scale multiplied into the cubic, and one factor x taken out."""
    scale = sqrt(2 / pi)
    return 0.5 * x * (1 + tanh(x * (scale + scale * 0.044715 * x**2)))


@gelu_tanh.spelling
def gelu_tanh_distributed(x: Term) -> Term:
    """The half multiplied into the sum."""
    return x * (0.5 + 0.5 * tanh(sqrt(2 / pi) * (x + 0.044715 * x**3)))


@gelu_tanh.build
def build_gelu_tanh(b: MatchBuilder, x: Tensor) -> Tensor:
    """The named op."""
    return named.gelu(b, x, "tanh")


@pattern(where=_elementwise)
def silu(x: Term) -> Term:
    """X times its logistic function."""
    return x / (1 + exp(-x))
