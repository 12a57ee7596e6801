# SPDX-License-Identifier: MIT OR Apache-2.0
"""Describes resizing by what repeats: the taps of one period of outputs, whatever the size is.

Where an image is enlarged three times, every third output reads the neighbours of its own input
with the same weights. So sizes need no tables, and can be free.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import gcd

import numpy as np

from xyntra.frontends.onnx.ops.nn.resize_taps import Filter, ResizedAxis, Taps, taps_of

__all__ = ["ResizePhases", "phases_of"]

_MOST = 16
_PERIODS = 64
"""Of the axis that a period is read from, in its middle, where no tap is at an edge."""
_TOLERANCE = 1e-4
"""Of weights: coordinates are rounded to float32, the more the larger they are."""


@dataclass(frozen=True)
class ResizePhases:
    """The taps of a period of outputs.

    Attributes:
        step: inputs of a period.
        offsets: [outputs of a period, taps], from the first input of its period; taps beyond an
            edge read the last input before it.
        weights: likewise.
    """

    step: int
    offsets: np.ndarray
    weights: np.ndarray

    @property
    def count(self) -> int:
        """Taps of an output."""
        return int(self.offsets.shape[1])

    @property
    def period(self) -> int:
        """Outputs of a period."""
        return int(self.offsets.shape[0])


def phases_of(
    axis: ResizedAxis, transformation: str, how: Filter, taps: Taps
) -> ResizePhases | None:
    """Return the taps of a period; None where `taps` are not those of all periods."""
    periods = gcd(axis.size, axis.output)
    period, step = axis.output // periods, axis.size // periods
    if period > _MOST or step > _MOST or taps.outside.any():
        return None
    usual = replace(axis, size=step * _PERIODS, output=period * _PERIODS)
    try:
        known = taps_of(usual, transformation, how)
    except ValueError:
        return None
    first = _PERIODS // 2
    rows = slice(first * period, (first + 1) * period)
    found = ResizePhases(step, known.indices[rows] - first * step, known.weights[rows])
    return found if found.offsets.shape[1] == taps.count and _are_of(found, axis, taps) else None


def _are_of(phases: ResizePhases, axis: ResizedAxis, taps: Taps) -> bool:
    """Tell whether the periods of an axis have these taps."""
    starts = np.arange(axis.output // phases.period)[:, None, None] * phases.step
    indices = np.clip(starts + phases.offsets, 0, axis.size - 1).reshape(taps.indices.shape)
    weights = np.broadcast_to(phases.weights, (len(starts), *phases.weights.shape))
    same = np.allclose(weights.reshape(taps.weights.shape), taps.weights, atol=_TOLERANCE)
    return same and np.array_equal(indices, taps.indices)
