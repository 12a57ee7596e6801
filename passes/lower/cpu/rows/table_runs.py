# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds, when a kernel runs, runs of contiguous columns in a table of positions."""

from __future__ import annotations

from torch_mlir.dialects import arith, scf

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import carrying_loop, index, load, plus

__all__ = ["longest_run"]


def longest_run(table: BufferOperand, extent: int) -> tuple[ir.Value, ir.Value]:
    """Emit a search for the run around the middle of a table, in which each entry is one more.

    Args:
        table: integers, one behind the other.
        extent: how many there are.

    Returns:
        The first entry of the run, and the one behind its last, as numbers of entries.
    """
    middle = extent // 2
    below = _reach(table, middle, middle, -1)
    above = _reach(table, middle, extent - 1 - middle, 1)
    return arith.subi(index(middle), below), plus(index(middle + 1), above)


def _reach(table: BufferOperand, middle: int, most: int, direction: int) -> ir.Value:
    """Return how many entries on one side of the middle continue the run, at most `most`."""
    true = arith.constant(ir.IntegerType.get_signless(1), 1)
    built = carrying_loop(most, [index(0), true])
    with ir.InsertionPoint(built.body):
        step = arith.muli(plus(built.induction_variable, index(1)), index(direction))
        place = plus(index(table.offset + middle), step)
        here = load(table, place)
        inner = load(table, plus(place, index(-direction)))
        one = arith.constant(table.element_type, direction)
        follows = arith.cmpi(arith.CmpIPredicate.eq, here, arith.addi(inner, one))
        count, goes_on = built.inner_iter_args
        goes_on = arith.andi(goes_on, follows)
        more = arith.extui(ir.IntegerType.get_signless(64), goes_on)
        scf.YieldOp([plus(count, arith.index_cast(ir.IndexType.get(), more)), goes_on])
    return built.results[0]
