# SPDX-License-Identifier: MIT OR Apache-2.0
"""Counts the outcomes of node tests by operator, and lists them for a file."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from verify.onnx_backend.cases import Outcome, operators

__all__ = ["as_json", "by_operator"]


def by_operator(found: Mapping[str, Outcome]) -> str:
    """One line for each operator: how many of its tests are right, and of how many."""
    right: dict[str, int] = defaultdict(int)
    total: dict[str, int] = defaultdict(int)
    for name, outcome in found.items():
        operator = operators()[name][0]
        total[operator] += 1
        right[operator] += outcome.what == "right"
    return "\n".join(f"{name:40} {right[name]:4} / {total[name]}" for name in sorted(total))


def as_json(found: Mapping[str, Outcome]) -> dict[str, Any]:
    """The operator and the outcome of each test, by name."""
    return {
        name: {"operator": operators()[name][0], **asdict(outcome)}
        for name, outcome in sorted(found.items())
    }
