# SPDX-License-Identifier: MIT OR Apache-2.0
"""A glance at what is next to an operation, at a tenth of the cost of analysing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.recognize.anchors import Anchor
from xyntra.passes.recognize.forms import Apply, Form
from xyntra.passes.recognize.opcodes import mlir_names

__all__ = ["Around", "Neighbours", "neighbours"]

_MOST_USERS = 4


@dataclass(frozen=True)
class Neighbours:
    """Names of the scalar operations before and after an operation; None if not known."""

    before: frozenset[str] | None
    after: frozenset[str] | None


_UNKNOWN = Neighbours(None, None)


@dataclass(frozen=True)
class Around:
    """Names of which one has to occur before an anchor, and one after; None if any will do."""

    before: frozenset[str] | None
    after: frozenset[str] | None

    @classmethod
    def of(cls, anchor: Anchor) -> Around:
        """What a spelling needs."""
        inner: Form | None = anchor.inner
        if not anchor.below:
            unary = isinstance(anchor.inner, Apply) and len(anchor.inner.operands) == 1
            inner = anchor.inner.operands[0] if unary and isinstance(anchor.inner, Apply) else None
        before = None if inner is None or inner.heads is None else _names(inner.heads)
        if len(anchor.stages) == 1:
            return cls(before, None)
        first, second = anchor.stages[:2]
        opcodes = second.opcodes | first.opcodes if first.steps > 1 else second.opcodes
        return cls(before, _names(opcodes))

    def allows(self, found: Neighbours) -> bool:
        """Whether an anchor with these neighbours is worth a closer look."""
        return _meet(self.before, found.before) and _meet(self.after, found.after)


def neighbours(operation: ir.Operation) -> Neighbours:
    """Look around a `linalg.generic` of one scalar operation; others have no known neighbours."""
    if len(operation.regions[0].blocks[0].operations) != 2 or len(operation.results) != 1:
        return _UNKNOWN
    owner = operation.operands[0].owner
    before = None if isinstance(owner, ir.Block) else scalar_names(owner.operation)
    after: set[str] = set()
    for count, use in enumerate(operation.results[0].uses):
        names = scalar_names(use.owner.operation) if count < _MOST_USERS else None
        if names is None:
            return Neighbours(before, None)
        after |= names
    return Neighbours(before, frozenset(after))


def scalar_names(operation: ir.Operation) -> frozenset[str] | None:
    """Names of the scalar operations in a body; None where data is only moved, and for others."""
    if operation.name != "linalg.generic":
        return None
    block = operation.regions[0].blocks[0]
    return frozenset([scalar.name for scalar in block.operations][:-1]) or None


def _names(opcodes: Iterable[str]) -> frozenset[str]:
    return frozenset(name for opcode in opcodes for name in mlir_names(opcode))


def _meet(wanted: frozenset[str] | None, found: frozenset[str] | None) -> bool:
    return wanted is None or found is None or not wanted.isdisjoint(found)
