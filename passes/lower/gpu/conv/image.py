# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells poolings and depthwise convolutions from contractions that have rows and columns."""

from __future__ import annotations

from math import prod

from xyntra.passes.lower.gpu.emit.vectors import coalesced_order
from xyntra.passes.lower.loops.linear_nest import LinearNest

_MAX_TAPS = 25
_NEAR = 4  # elements between neighbouring outputs' windows at most
_FEW = 4  # outputs that may share a window


def image_of(nest: LinearNest) -> int | None:
    """Return the number of the input of which each few outputs read a small window of their own.

    None where there is no such input: where many outputs share what they read, tiles read less.
    """
    taps = prod(nest.loops[number].extent for number in nest.reductions)
    order = coalesced_order(nest)
    if not order or taps > _MAX_TAPS or nest.indices:
        return None
    for number in used_inputs(nest):
        access = nest.inputs[number]
        if access.is_scalar or not 0 < access.strides[order[-1]] <= _NEAR:
            continue
        if prod(nest.loops[loop].extent for loop in order if not access.strides[loop]) <= _FEW:
            return number
    return None


def used_inputs(nest: LinearNest) -> list[int]:
    """Return the numbers of the inputs that the body looks at."""
    arguments = list(nest.body.arguments)[: len(nest.inputs)]
    return [number for number, each in enumerate(arguments) if list(each.uses)]
