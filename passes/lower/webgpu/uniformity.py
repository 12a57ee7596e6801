# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which values all threads of a block share, and which operations all of them reach.

A barrier that only some threads reach is undefined. What is read from workgroup memory at one place
counts as shared: threads that decide by it whether they meet at a barrier have met before.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.owners import constant_number

__all__ = ["Uniformity"]

_SAME = ("arith.", "math.")
_LOAD = "memref.load"
_OF_A_BLOCK = frozenset({"gpu.block_id", "gpu.grid_dim", "gpu.block_dim"})


class Uniformity:
    """What is known of one function; it must not change meanwhile."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, bool] = {}

    def is_reached_by_all(self, op: ir.Operation) -> bool:
        """Tell whether all threads of a block reach an operation, equally often."""
        inner, around = op, op.parent
        while around is not None and around.operation.name != "gpu.func":
            around = around.operation
            if around.name == "scf.while":
                return False
            if around.name not in ("scf.if", "scf.for"):
                return False
            deciding = list(around.operands)[: 3 if around.name == "scf.for" else 1]
            if not all(map(self.is_same, deciding)) and not _runs_once(around):
                return False
            inner, around = around, around.parent
        return inner is not None

    def is_same(self, value: ir.Value) -> bool:
        """Tell whether a value is surely the same in all threads of a block."""
        found = self._known.get(value)
        if found is None:
            self._known[value] = False  # while it is asked for: a loop that depends on itself
            found = self._known[value] = self._find(value)
        return found

    def _find(self, value: ir.Value) -> bool:
        owner = value.owner
        if isinstance(owner, ir.Block):
            loop = owner.owner.operation
            return (
                loop.name == "scf.for"
                and ir.BlockArgument(value).arg_number == 0
                and all(self.is_same(each) for each in list(loop.operands)[:3])
            )
        op = owner.operation
        if op.name in _OF_A_BLOCK:
            return True
        if op.name == _LOAD and _is_shared(op.operands[0]):
            return all(map(self.is_same, list(op.operands)[1:]))
        return op.name.startswith(_SAME) and all(map(self.is_same, op.operands))


def _runs_once(op: ir.Operation) -> bool:
    """Tell whether an operation is a loop of which every thread has one iteration of its own."""
    if op.name != "scf.for":
        return False
    first, end, step = (_upper_bound(each) for each in list(op.operands)[:3])
    is_known = all(constant_number(each) is not None for each in list(op.operands)[1:3])
    return is_known and first is not None and end is not None and first < end <= (step or 0)


def _upper_bound(value: ir.Value) -> int | None:
    """Return what an unsigned number is at most, where its computation says so."""
    constant = constant_number(value)
    if constant is not None:
        return int(constant)
    if isinstance(value.owner, ir.Block):
        return None
    op = value.owner.operation
    bounds = [_upper_bound(each) for each in op.operands]
    known = [each for each in bounds if each is not None]
    if op.name in ("arith.index_cast", "arith.index_castui"):
        return bounds[0]
    if op.name in ("arith.minui", "arith.andi"):
        return min(known, default=None)
    if op.name == "arith.remui" and bounds[1]:
        return bounds[1] - 1
    if op.name == "arith.divui" and bounds[0] is not None and bounds[1]:
        return bounds[0] // bounds[1]
    return None


def _is_shared(memory: ir.Value) -> bool:
    return "orkgroup" in str(ir.MemRefType(memory.type).memory_space)
