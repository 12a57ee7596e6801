# SPDX-License-Identifier: MIT OR Apache-2.0
"""Saves the accumulators of a tile to memory between two blocks of K."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import scf

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.lower.cpu.matmul.tile_blocking import Blocking
from xyntra.passes.lower.cpu.matmul.tile_plan import TilePlan
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.loop_builder import index
from xyntra.passes.lower.loops.memrefs import allocate
from xyntra.passes.lower.loops.vector_body import broadcast


@dataclass(frozen=True)
class PartialSums:
    """Memory for the tiles of one block, each on its own, though neighbours may overlap.

    Attributes:
        plan: the tiles.
        memory: for a block.
        rows: tiles below each other in a block.
    """

    plan: TilePlan
    memory: ir.Value
    rows: int

    @classmethod
    def allocated(cls, plan: TilePlan, blocking: Blocking, element: ir.Type) -> PartialSums:
        """Allocate memory at the insertion point."""
        size = blocking.rows * blocking.columns * plan.rows * plan.columns
        return cls(plan, allocate(size, element), blocking.rows)

    def start(self, column: ir.Value, row: ir.Value) -> ir.Value:
        """Return where a tile lies, given by its numbers in the block."""
        tile = integers.addi(integers.muli(column, index(self.rows)), row)
        return integers.muli(tile, index(self.plan.rows * self.plan.columns))

    def resume(self, is_first: ir.Value, initial: ir.Value, start: ir.Value) -> list[ir.Value]:
        """Return the accumulators of a tile: `initial` in the first part, then what was saved."""
        count, lanes = self.plan.rows * self.plan.vectors, self.plan.lanes
        kind = ir.VectorType.get([lanes], initial.type)
        branch = scf.IfOp(is_first, [kind] * count, has_else=True)
        with ir.InsertionPoint(branch.then_block):
            scf.YieldOp([broadcast(initial, lanes)] * count)
        with ir.InsertionPoint(branch.else_block):
            places = [integers.addi(start, index(number * lanes)) for number in range(count)]
            scf.YieldOp([emit("vector.load", [self.memory, place], kind) for place in places])
        return list(branch.results)

    def save(self, values: Sequence[ir.Value], start: ir.Value) -> None:
        """Store the accumulators of a tile."""
        for number, value in enumerate(values):
            place = integers.addi(start, index(number * self.plan.lanes))
            ir.Operation.create("vector.store", operands=[value, self.memory, place])
