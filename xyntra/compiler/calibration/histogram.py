# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the values of a tensor over samples, and finds a range for integers of 8 bits."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from xyntra.passes.precision.quantization import FactorRange

__all__ = ["Histogram"]

Array = np.ndarray[Any, Any]

_HALF = 4096
"""Bins on either side of 0: 32 for each of the integers, if all of the range is used."""
_OUTSIDE = 1e-4
"""The share of values that "percentile" leaves outside, on both sides together."""
_CLIPS = np.linspace(0.2, 1.0, 81)
"""Parts of the range that "mse" compares."""


class Histogram:
    """Counts in bins of one width, which doubles where a value lies outside.

    Attributes:
        low: the least value, or 0.
        high: the largest value, or 0.
        is_finite: whether no value was infinite or NaN; these are counted nowhere.
    """

    def __init__(self) -> None:
        self.low, self.high, self.is_finite = 0.0, 0.0, True
        self._width = 0.0
        self._counts: Array = np.zeros(2 * _HALF, np.int64)

    def add(self, values: Array) -> None:
        """Count the values of an array of floats."""
        flat = values.reshape(-1)
        if not flat.size:
            return
        low, high = float(flat.min()), float(flat.max())
        if not math.isfinite(low + high):
            self.is_finite = False
            flat = flat[np.isfinite(flat)]
            low, high = float(flat.min(initial=0)), float(flat.max(initial=0))
        self.low, self.high = min(self.low, low), max(self.high, high)
        reach = max(-self.low, self.high)
        if reach == 0:
            self._counts[_HALF] += flat.size
            return
        self._widen(reach)
        places = (flat * np.float32(1 / self._width)).astype(np.int64) if flat.size else flat
        # Conversion truncates: values below 0 belong to the bin before.
        places = np.where(flat < 0, places - 1, places) + _HALF
        places = np.clip(places, 0, 2 * _HALF - 1)
        self._counts += np.bincount(places.astype(np.int64), minlength=2 * _HALF)

    def _widen(self, reach: float) -> None:
        if self._width == 0:
            self._width = reach * 1.0001 / _HALF
        while self._width * _HALF < reach:
            self._width *= 2
            pairs = self._counts.reshape(-1, 2).sum(1)
            self._counts = np.zeros_like(self._counts)
            self._counts[_HALF // 2 : _HALF // 2 + _HALF] = pairs

    def range_of(self, calibration: str, *, symmetric: bool) -> FactorRange:
        """Return the scale and the zero point of integers of 8 bits.

        Args:
            calibration: "minmax", "percentile" or "mse".
            symmetric: whether integers are signed, with 0 for 0.
        """
        if self.low == self.high == 0:
            return FactorRange(1.0, -1 if symmetric else 0, "")
        if calibration == "percentile":
            return _range(*self._percentile(), symmetric)
        if calibration == "mse":
            return min(
                (_range(self.low * part, self.high * part, symmetric) for part in _CLIPS[::-1]),
                key=self._error,
            )
        return _range(self.low, self.high, symmetric)

    def _percentile(self) -> tuple[float, float]:
        """Return the bounds of all but a few of the values, as many on either side."""
        total = self._counts.cumsum()
        outside = total[-1] * _OUTSIDE / 2
        first = int(np.searchsorted(total, outside, side="right"))
        last = int(np.searchsorted(total, total[-1] - outside, side="left"))
        low = max(self.low, (first - _HALF) * self._width)
        high = min(self.high, (last + 1 - _HALF) * self._width)
        return (min(low, 0.0), max(high, 0.0)) if high > low else (self.low, self.high)

    def _error(self, range_: FactorRange) -> float:
        """Return the sum of squares by which integers of this range change the values."""
        used = np.flatnonzero(self._counts)
        centres = (used - _HALF + 0.5) * self._width
        least, most = (-128, 127) if range_.zero < 0 else (0, 255)
        integers = np.clip(np.rint(centres / range_.scale) + range_.point, least, most)
        found = (integers - range_.point) * range_.scale
        return float((self._counts[used] * np.square(found - centres)).sum())


def _range(low: float, high: float, symmetric: bool) -> FactorRange:
    reach = max(-low, high) / 127 if symmetric else (high - low) / 255
    scale = max(float(np.float32(reach)), float(np.finfo(np.float32).tiny))
    zero = -1 if symmetric else min(255, max(0, round(-low / scale)))
    return FactorRange(scale, zero, "")
