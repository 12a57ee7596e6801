# SPDX-License-Identifier: MIT OR Apache-2.0
"""Says which parts of the matrices of an attention a thread holds."""

from __future__ import annotations

from dataclasses import dataclass

from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.gpu.attention.values import Registers

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
