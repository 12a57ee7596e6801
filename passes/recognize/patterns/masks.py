# SPDX-License-Identifier: MIT OR Apache-2.0
"""Selections: what training leaves in a graph, and the cleaning up after a masked softmax."""

from __future__ import annotations

from xyntra.dialects.builder import Tensor
from xyntra.dialects.scalar import constant
from xyntra.passes.recognize.matching.pattern import (
    Match,
    MatchBuilder,
    Term,
    equal,
    isnan,
    pattern,
    where,
)


def _keeps_all(match: Match) -> bool:
    return match.whole("x")


@pattern(name="dropout", where=_keeps_all)
def dropout_of_nothing(x: Term, dropped: Term) -> Term:
    """A mask that keeps every element."""
    return where(1.0, x, dropped)


@dropout_of_nothing.spelling
def dropout_to_zero(x: Term) -> Term:
    """With a constant in the place of what is dropped."""
    return where(1.0, x, 0.0)


@dropout_of_nothing.build
def build_dropout(b: MatchBuilder, x: Tensor) -> Tensor:
    """The input."""
    return x


def _in_several_operations(match: Match) -> bool:
    return match.whole("x") and len({each.operation for each in match.state.covered}) > 1


@pattern(where=_in_several_operations)
def zero_nan(x: Term) -> Term:
    """As scaled dot product attention does where a row of the softmax is masked altogether."""
    return where(isnan(x), 0.0, x)


@zero_nan.spelling
def zero_nan_kept(x: Term) -> Term:
    """The other way round."""
    return where(equal(x, x), x, 0.0)


@zero_nan.build
def build_zero_nan(b: MatchBuilder, x: Tensor) -> Tensor:
    """One operation, without the mask in between."""
    return b.map(lambda v: v.is_nan().select(constant(0, v.dtype), v), x, dtype=x.dtype)
