# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which values all threads of a block share, and which operations all of them reach.

A barrier that only some threads reach is undefined. What is read from workgroup memory at one place
counts as shared: threads that decide by it whether they meet at a barrier have met before.
"""

from __future__ import annotations

from xyntra.dialects.mlir import ir

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
            deciding = list(around.operands)[: 3 if around.name == "scf.for" else 1]
            if around.name not in ("scf.if", "scf.for") or not all(map(self.is_same, deciding)):
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


def _is_shared(memory: ir.Value) -> bool:
    return "orkgroup" in str(ir.MemRefType(memory.type).memory_space)
