# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that operations can run together by columns, of elements that lie apart in memory."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from xyntra.passes.fusion.legality.members import Member
from xyntra.passes.targets.target import KernelLimits

__all__ = ["share_columns"]

_LEAST_BESIDE = 8  # columns that are neighbours: threads side by side read one segment of memory


def share_columns(
    members: Sequence[Member], limits: KernelLimits, summands: Collection[int]
) -> bool:
    """Tell whether all of `members` have columns in common that are short enough to be held.

    `summands` are computed by reductions in their loops, and what these read comes from outside.
    """
    chosen = [member for index, member in enumerate(members) if index not in summands]
    if not chosen or not limits.max_column_bytes:
        return False
    columns = chosen[0].columns
    for member in chosen:
        columns &= member.columns
        for read in member.reads:
            if read.producer not in summands:
                columns &= read.columns
    nbytes = max(member.nbytes for member in chosen)
    return any(
        beside >= _LEAST_BESIDE and nbytes <= pieces * beside * limits.max_column_bytes
        for pieces, beside in columns
    )
