# SPDX-License-Identifier: MIT OR Apache-2.0
"""Removes what a rewrite has left without a use."""

from __future__ import annotations

from collections.abc import Iterable

from xyntra.dialects.mlir import ir
from xyntra.dialects.purity import impurity

__all__ = ["erase_unused"]


def erase_unused(operations: Iterable[ir.Operation]) -> None:
    """Erase those of `operations` that are pure and unused, and what only they used.

    Create all new operations before: the bindings may take one for an erased one.
    """
    waiting = list(operations)
    erased: set[ir.Operation] = set()
    while waiting:
        op = waiting.pop()
        if op in erased or impurity(op) is not None or not op.results:
            continue
        if any(True for result in op.results for _ in result.uses):
            continue
        for value in op.operands:
            if not isinstance(value.owner, ir.Block):
                waiting.append(value.owner.operation)
        erased.add(op)
        op.erase()
