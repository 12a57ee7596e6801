# SPDX-License-Identifier: MIT OR Apache-2.0
"""Softmax and its logarithm, written out.

Without the subtraction of the maximum the exponential overflows where the named ops do not: that
is no matter of rounding, so such programs are left as they are.
"""

from __future__ import annotations

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor
from xyntra.passes.recognize.matching.pattern import (
    Axis,
    Match,
    MatchBuilder,
    Term,
    exp,
    log,
    pattern,
    reduce_max,
    reduce_sum,
)


def _one_axis(match: Match) -> bool:
    return match.whole("x") and len(match.axis("axis")) == 1


@pattern(where=_one_axis)
def softmax(x: Term, axis: Axis) -> Term:
    """Exponentials divided by their sum."""
    shifted = exp(x - reduce_max(x, axis))
    return shifted / reduce_sum(shifted, axis)


@softmax.build
def build_softmax(b: MatchBuilder, x: Tensor, axis: tuple[int, ...]) -> Tensor:
    """The named op."""
    return named.softmax(b, x, axis[0])


@pattern(where=_one_axis)
def log_softmax(x: Term, axis: Axis) -> Term:
    """The sum over exponentials under a logarithm."""
    shifted = x - reduce_max(x, axis)
    return shifted - log(reduce_sum(exp(shifted), axis))


@log_softmax.build
def build_log_softmax(b: MatchBuilder, x: Tensor, axis: tuple[int, ...]) -> Tensor:
    """The named op."""
    return named.log_softmax(b, x, axis[0])
