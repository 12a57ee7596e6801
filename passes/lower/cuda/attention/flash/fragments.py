# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the interface of a warp's matrix multiply."""

from __future__ import annotations

from typing import Protocol

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.gpu.attention.layout import FragmentLayout, Matrix


class Multiplier(Protocol):
    """Multiplies matrices in shared memory; one object for the code of one warp."""

    layout: FragmentLayout

    def keep_queries(self) -> None:
        """Called once the queries are in shared memory."""

    def scores(self, keys: Scalar) -> Matrix:
        """Products of the warp's queries with its keys, which lie at an address."""

    def weighted(self, weights: Matrix, values: Scalar, accumulators: Matrix) -> Matrix:
        """`accumulators` plus the values at an address, each times its weight."""
