# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rows of a sweep."""

from __future__ import annotations

import fnmatch
from collections.abc import Sequence

from bench.sweep.row import LAYERS, Row

__all__ = ["SEED", "rows"]

SEED = 1
"""What is recorded; other seeds draw other sizes, dtypes and options."""


def rows(target: str, seed: int, patterns: Sequence[str] = ()) -> list[Row]:
    """Return the layers for "cuda" or "cpu"; some patterns choose those whose names match one."""
    from bench.sweep import layers  # noqa: F401 - importing them enters them

    index = ("cuda", "cpu").index(target)
    found = [
        Row(each, target, seed, number) for each in LAYERS for number in range(each.counts[index])
    ]
    return [
        row for row in found if not patterns or any(fnmatch.fnmatch(row.name, p) for p in patterns)
    ]
