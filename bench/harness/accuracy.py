# SPDX-License-Identifier: MIT OR Apache-2.0
"""Measures how far two sets of outputs are apart."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

__all__ = ["ABSOLUTE", "RELATIVE", "Difference", "compare", "worst"]

RELATIVE = 1e-3
ABSOLUTE = 1e-4


@dataclass(frozen=True)
class Difference:
    """The distance of outputs from a reference.

    Attributes:
        absolute: max |d|, where d = output - reference.
        scaled: max(|d| - RELATIVE * |reference|); at most ABSOLUTE is close enough. May be
            negative.
    """

    absolute: float
    scaled: float

    @property
    def close(self) -> bool:
        """Whether every element is within the bound."""
        return self.scaled <= ABSOLUTE


def compare(outputs: Mapping[str, np.ndarray], reference: Mapping[str, np.ndarray]) -> Difference:
    """Compare two sets of arrays, name by name, in float64.

    Where one side is not finite, the other must be the same (NaN where NaN), or the distance is
    infinite.

    Raises:
        ValueError: names, shapes or dtypes differ.
    """
    if set(outputs) != set(reference):
        raise ValueError(f"outputs {sorted(outputs)} are not {sorted(reference)}")
    return worst([_one(name, outputs[name], value) for name, value in reference.items()])


def worst(differences: Sequence[Difference]) -> Difference:
    """Return the largest distances of several comparisons."""
    return Difference(
        absolute=max((d.absolute for d in differences), default=0.0),
        scaled=max((d.scaled for d in differences), default=-math.inf),
    )


def _one(name: str, output: np.ndarray, reference: np.ndarray) -> Difference:
    if output.shape != reference.shape or output.dtype != reference.dtype:
        raise ValueError(
            f"output {name!r} is {output.dtype}{list(output.shape)}, "
            f"not {reference.dtype}{list(reference.shape)}"
        )
    a, b = output.astype(np.float64).ravel(), reference.astype(np.float64).ravel()
    finite = np.isfinite(a) & np.isfinite(b)
    if not np.array_equal(a[~finite], b[~finite], equal_nan=True):
        return Difference(math.inf, math.inf)
    a, b = a[finite], b[finite]
    if a.size == 0:
        return Difference(0.0, -math.inf)
    distance = np.abs(a - b)
    return Difference(float(distance.max()), float((distance - RELATIVE * np.abs(b)).max()))
