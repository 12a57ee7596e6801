# SPDX-License-Identifier: MIT OR Apache-2.0
"""The shape of the register tiles that a product of narrow integers is computed in."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Shape"]


@dataclass(frozen=True)
class Shape:
    """A tile: `rows` by `vectors` vectors of `lanes` accumulators."""

    rows: int
    vectors: int
    lanes: int

    @property
    def columns(self) -> int:
        """Accumulators in one row."""
        return self.vectors * self.lanes
