# SPDX-License-Identifier: MIT OR Apache-2.0
"""Defines the interface of a warp's matrix multiply, and its layout of fragments."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.machine import Registers

Matrix = list[Registers]
"""A thread's part of a matrix, by its rows."""


@dataclass(frozen=True)
class FragmentLayout:
    """The rows and columns of a warp's matrices that a thread holds.

    Attributes:
        row: the thread's first row, int32.
        rows: the distances of its rows from that.
        key: its first column of the scores, int32.
        keys: the distances of its other columns, ascending.
        column: its first column of the result, int32.
        columns: the distances of its other columns, ascending.
        pair: how many columns of the result lie next to each other.
        lanes: neighbouring lanes that hold the same rows.
    """

    row: Scalar
    rows: tuple[int, ...]
    key: Scalar
    keys: tuple[int, ...]
    column: Scalar
    columns: tuple[int, ...]
    pair: int
    lanes: int


class Multiplier(Protocol):
    """Multiplies matrices in shared memory; one object for the code of one warp."""

    layout: FragmentLayout

    def keep_queries(self) -> None:
        """Called once the queries are in shared memory."""

    def scores(self, keys: Scalar) -> Matrix:
        """Products of the warp's queries with its keys, which lie at an address."""

    def weighted(self, weights: Matrix, values: Scalar, accumulators: Matrix) -> Matrix:
        """`accumulators` plus the values at an address, each times its weight."""
