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
    waiting = list(dict.fromkeys(operations))
    while waiting:
        op = waiting.pop()
        if impurity(op) is not None or not op.results or _is_used(op):
            continue
        operands = dict.fromkeys(op.operands)
        owners = dict.fromkeys(
            value.owner.operation for value in operands if not isinstance(value.owner, ir.Block)
        )
        op.erase()
        # Once its last use has gone, an operation is listed: never twice.
        waiting += [owner for owner in owners if not _is_used(owner) and owner not in waiting]


def _is_used(op: ir.Operation) -> bool:
    return any(True for result in op.results for _ in result.uses)
