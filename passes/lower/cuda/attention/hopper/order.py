# SPDX-License-Identifier: MIT OR Apache-2.0
"""Assigns tiles of queries to persistent blocks on Hopper, and orders them.

A tile is a number: its head, which counts through the batches, times 65536, plus its row of tiles.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from heapq import heapify, heapreplace
from itertools import accumulate

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.passes.lower.cuda.attention.hopper.plan import HopperPlan
from xyntra.passes.lower.cuda.attention.machine import global_address
from xyntra.passes.lower.cuda.ptx.memory import ld_global
from xyntra.passes.lower.gpu.attention.problem import Problem
from xyntra.passes.lower.gpu.attention.values import number
from xyntra.passes.lower.gpu.emit.shared_memory import SharedMemory

_CACHED = 16 << 20  # bytes of keys and values that should stay in the second-level cache
_LIMIT = 1 << 16
_LONGEST = 1 << 15  # entries of a table
_ENDS = 0.75  # of a step: what a tile takes beside its steps
_GLOBAL = 1  # memory space
_WORD = 4


@dataclass(frozen=True)
class QueryTileOrder:
    """The tiles of one block.

    Attributes:
        rows: tiles of a head.
        tiles: of all heads.
        grid: blocks.
        block: the number of the block, uint32.
        table: address of the tiles of all blocks, one behind the other, and where they begin, as
            uint64s; None where a block takes every `grid`-th tile.
    """

    rows: int
    tiles: int
    grid: int
    block: Scalar
    table: tuple[Scalar, Scalar] | None

    def count(self) -> Scalar:
        """Tiles of the block, an int32."""
        if self.table is not None:
            first, last = (self._word(self.table[1], self.block + i) for i in (0, 1))
            return (last - first).cast("int32")
        whole, rest = divmod(self.tiles, self.grid)
        return (self.block < rest).select(number(whole + 1), whole)

    def start(self) -> Scalar:
        """Return what `tile` needs of the block, a uint32."""
        return self.block if self.table is None else self._word(self.table[1], self.block)

    def tile(self, start: Scalar, turn: Scalar) -> Scalar:
        """The block's tile number `turn`, a uint32; there may be none."""
        if self.table is not None:
            return self._word(self.table[0], start + turn)
        flat = start + turn * self.grid
        row = number(self.rows - 1, "uint32") - flat % self.rows
        return (flat / self.rows << 16) + row

    @staticmethod
    def _word(base: Scalar, place: Scalar) -> Scalar:
        address = base + place.cast("uint64") * _WORD
        return Scalar(ld_global(address.value, 32, lasting=True), "uint32")


def tile_order(
    problem: Problem, plan: HopperPlan, grid: int, block: Scalar, shared: SharedMemory
) -> QueryTileOrder:
    """The order of a launch; where tiles take different times, from a table made here."""
    b, h, s, _, _, _ = problem.sizes
    rows = -(-s // plan.rows)
    tiles = b * h * rows
    is_even = not problem.skips_keys or grid == tiles
    if is_even or tiles > _LONGEST or max(b * h, rows) >= _LIMIT:
        return QueryTileOrder(rows, tiles, grid, block, None)
    steps = [steps_of(problem, plan, row) for row in range(rows)]
    blocks = shared_out(b * h, heads_together(problem), steps, grid)
    words = [tile for each in blocks for tile in each]
    starts = [0, *accumulate(map(len, blocks))]
    table = (_constant(shared, "tiles", [*words, 0]), _constant(shared, "starts", starts))
    return QueryTileOrder(rows, tiles, grid, block, table)


def shared_out(heads: int, together: int, steps: Sequence[int], grid: int) -> list[list[int]]:
    """The tiles of every block: each goes to the block that is done first with those before.

    Args:
        heads: of all batches.
        together: how many heads are computed at a time, so that their keys stay in the cache; of
            these, tiles with the most keys come first.
        steps: of every row of tiles, ascending.
        grid: blocks.
    """
    blocks: list[list[int]] = [[] for _ in range(grid)]
    done = [(0.0, number) for number in range(grid)]
    heapify(done)
    for first in range(0, heads, together):
        for row in reversed(range(len(steps))):
            for head in range(first, min(first + together, heads)):
                time, block = done[0]
                blocks[block].append(head * _LIMIT + row)
                heapreplace(done, (time + _ENDS + steps[row], block))
    return blocks


def heads_together(problem: Problem) -> int:
    """Heads whose keys and values stay in the cache while all their queries are computed."""
    b, h, _, t, d, e = problem.sizes
    return max(1, min(b * h, _CACHED // (2 * t * (d + e))))


def steps_of(problem: Problem, plan: HopperPlan, row: int) -> int:
    """Steps of a row of tiles; see `HopperBlock.tile`."""
    keys = problem.sizes[3]
    seen = (row + 1) * plan.rows + (problem.op.causal_offset or 0)
    return min(-(-max(seen, 1) // plan.keys), -(-keys // plan.keys))


def _constant(shared: SharedMemory, name: str, values: Sequence[int]) -> Scalar:
    """The address of constants in global memory."""
    word = ir.IntegerType.get_signless(32)
    kind = ir.RankedTensorType.get([len(values)], word)
    space = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), _GLOBAL)
    memory = ir.MemRefType.get([len(values)], word, memory_space=space)
    signed = [value - (1 << 32) if value >> 31 else value for value in values]
    dense = ir.DenseElementsAttr.get([ir.IntegerAttr.get(word, v) for v in signed], kind)
    symbol = f"{shared.name}_{name}"
    with ir.InsertionPoint.at_block_begin(shared.module.regions[0].blocks[0]):
        ir.Operation.create(
            "memref.global",
            attributes={
                "sym_name": ir.StringAttr.get(symbol),
                "sym_visibility": ir.StringAttr.get("private"),
                "type": ir.TypeAttr.get(memory),
                "initial_value": dense,
                "constant": ir.UnitAttr.get(),
            },
        )
    reference = ir.FlatSymbolRefAttr.get(symbol)
    found = ir.Operation.create(
        "memref.get_global", results=[memory], attributes={"name": reference}
    )
    return global_address(found.result, _WORD)
