# SPDX-License-Identifier: MIT OR Apache-2.0
"""Copies of what the columns of one tile read, in the order in which the reduction reads it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch_mlir.dialects import arith

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.linear_nest import Access, LinearNest
from xyntra.passes.lower.cpu.loop_builder import Position, index, load, loop, offset, plus, store
from xyntra.passes.lower.cpu.memrefs import allocate
from xyntra.passes.lower.cpu.tile_plan import TilePlan


@dataclass(frozen=True)
class Panel:
    """Memory for one packed input: for every step of the reductions a row of the tile's columns.

    Attributes:
        source: the input.
        packed: the panel; its strides are those of the reductions.
        places: where each column of the tile starts in the source; None where columns follow each
            other at the stride of one loop.
    """

    source: Access
    packed: Access
    places: ir.Value | None


def new_panel(nest: LinearNest, plan: TilePlan, source: Access) -> Panel:
    """Allocate a panel for `source` at the insertion point."""
    strides = [0] * len(nest.loops)
    size = plan.columns
    for number in reversed(range(len(nest.loops))):
        if nest.loops[number].is_reduction:
            strides[number] = size
            size *= nest.loops[number].extent
    element = ir.MemRefType(source.value.type).element_type
    packed = Access(allocate(size, element), 0, tuple(strides))
    merged = len(plan.column_loops) > 1
    places = allocate(plan.columns, ir.IndexType.get()) if merged else None
    return Panel(source, packed, places)


def fill_panel(
    nest: LinearNest, plan: TilePlan, panel: Panel, position: Position, first: ir.Value
) -> None:
    """Emit the loops that copy the columns from `first` on.

    Args:
        nest: the contraction.
        plan: its tile.
        panel: what to fill.
        position: the outer loops.
        first: the first column of the tile.
    """
    if panel.places is not None:
        _find_places(nest, plan, panel.source, panel.places, first)
    reductions = [number for number, each in enumerate(nest.loops) if each.is_reduction]
    column = plan.column_loops[-1]
    stride = panel.source.strides[column]
    start = offset(panel.source, position)
    if panel.places is None:
        start = arith.addi(start, arith.muli(first, index(stride)))
    # Where columns are far apart, the source is read along the reductions instead.
    columns_inside = panel.places is not None or all(
        abs(panel.source.strides[number]) >= abs(stride) for number in reductions
    )

    def copy_column(steps: Position, number: ir.Value) -> None:
        place = _place(panel, number, stride)
        value = load(panel.source, plus(start, _moved(panel.source, steps), place))
        store(value, panel.packed, plus(_moved(panel.packed, steps), number))

    def copy_reduction(remaining: Sequence[int], steps: Position) -> None:
        if remaining:
            with loop(nest.loops[remaining[0]].extent) as step:
                copy_reduction(remaining[1:], steps | {remaining[0]: step})
        elif columns_inside:
            with loop(plan.columns) as number:
                copy_column(steps, number)
        else:
            copy_column(steps, outer_column)

    if columns_inside:
        copy_reduction(reductions, {})
    else:
        with loop(plan.columns) as outer_column:
            copy_reduction(reductions, {})


def _place(panel: Panel, number: ir.Value, stride: int) -> ir.Value:
    if panel.places is None:
        return arith.muli(number, index(stride))
    return load(Access(panel.places, 0, ()), number)


def _moved(access: Access, steps: Position) -> ir.Value:
    return offset(Access(access.value, 0, access.strides), steps)


def _find_places(
    nest: LinearNest, plan: TilePlan, source: Access, places: ir.Value, first: ir.Value
) -> None:
    """Split the number of every column of the tile into the column loops."""
    with loop(plan.columns) as number:
        rest = arith.addi(first, number)
        total = index(0)
        for column_loop in reversed(plan.column_loops):
            extent = index(nest.loops[column_loop].extent)
            step = arith.muli(arith.remui(rest, extent), index(source.strides[column_loop]))
            total = arith.addi(total, step)
            rest = arith.divui(rest, extent)
        store(total, Access(places, 0, ()), number)
