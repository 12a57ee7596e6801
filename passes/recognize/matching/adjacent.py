# SPDX-License-Identifier: MIT OR Apache-2.0
"""A glance at what is next to an operation, at a tenth of the cost of analysing it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import RESHAPES
from xyntra.passes.recognize.matching.anchors import Anchor
from xyntra.passes.recognize.matching.forms import Apply, Form
from xyntra.passes.recognize.matching.opcodes import mlir_names

__all__ = ["Around", "Neighbours"]

_MOST_USERS = 4
_FURTHEST = 3


class Neighbours:
    """Names of the scalar operations before and after an operation; None if not known.

    Known they are for a `linalg.generic` of one scalar operation.
    """

    def __init__(self, operation: ir.Operation) -> None:
        block = operation.regions[0].blocks[0]
        self._known = len(operation.results) == 1 and len(block.operations) == 2
        self._operation = operation

    @cached_property
    def before(self) -> frozenset[str] | None:
        """The opcodes of what computes the first operand."""
        return _before(self._operation) if self._known else None

    @cached_property
    def after(self) -> frozenset[str] | None:
        """The opcodes of what reads the result."""
        return _after(self._operation) if self._known else None


@dataclass(frozen=True)
class Around:
    """Names of which one has to occur before an anchor, and one after; None if any will do."""

    before: frozenset[str] | None
    after: frozenset[str] | None

    @classmethod
    def of(cls, anchor: Anchor) -> Around:
        """Return what a spelling needs."""
        inner: Form | None = anchor.inner
        if not anchor.below:
            unary = isinstance(anchor.inner, Apply) and len(anchor.inner.operands) == 1
            inner = anchor.inner.operands[0] if unary and isinstance(anchor.inner, Apply) else None
        before = None if inner is None or inner.heads is None else _names(inner.heads)
        first, *later = anchor.stages
        opcodes = later[0].opcodes if later else frozenset[str]()
        if anchor.below and anchor.alone:
            return cls(before, None)
        if first.chain:
            opcodes |= first.opcodes
        return cls(before, _names(opcodes) if opcodes else None)

    def allows(self, found: Neighbours) -> bool:
        """Tell whether an anchor with these neighbours is worth a closer look."""
        return _meet(self.before, found.before) and _meet(self.after, found.after)


def _before(operation: ir.Operation) -> frozenset[str] | None:
    for _ in range(_FURTHEST):
        owner = operation.operands[0].owner
        if isinstance(owner, ir.Block):
            return frozenset()
        operation = owner.operation
        names = scalar_names(operation)
        if names is None or names:
            return names
    return None


def _after(operation: ir.Operation, depth: int = _FURTHEST) -> frozenset[str] | None:
    found: set[str] = set()
    for count, use in enumerate(operation.results[0].uses):
        user = use.owner.operation
        names = scalar_names(user) if count < _MOST_USERS else None
        if names is not None and not names:
            names = _after(user, depth - 1) if depth else None
        if names is None:
            return None
        found |= names
    return frozenset(found)


def scalar_names(operation: ir.Operation) -> frozenset[str] | None:
    """Names of the scalar operations in a body, none where data is only moved; else None."""
    name = operation.name
    if name in RESHAPES:
        return frozenset()
    if name != "linalg.generic":
        return frozenset([name]) if len(operation.results) == 1 else None
    block = operation.regions[0].blocks[0]
    return frozenset([scalar.name for scalar in block.operations][:-1])


def _names(opcodes: Iterable[str]) -> frozenset[str]:
    return frozenset(name for opcode in opcodes for name in mlir_names(opcode))


def _meet(wanted: frozenset[str] | None, found: frozenset[str] | None) -> bool:
    return wanted is None or found is None or not wanted.isdisjoint(found)
