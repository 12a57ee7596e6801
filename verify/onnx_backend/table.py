# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the outcomes of node tests by operator."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

from verify.onnx_backend.cases import Outcome, operators

__all__ = ["by_operator"]


def by_operator(found: Mapping[str, Outcome]) -> str:
    """One line for each operator: how many of its tests are right, and of how many."""
    right: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for name, outcome in found.items():
        operator = operators()[name][0]
        total[operator] += 1
        right[operator] += outcome.what == "right"
    return "\n".join(f"{name:40} {right[name]:4} / {total[name]}" for name in sorted(total))
