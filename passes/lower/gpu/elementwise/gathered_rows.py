# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vectors of rows that are gathered: what names the row is computed once for a vector."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.cloning import repeat
from xyntra.passes.lower.gpu.elementwise.row_gathers import RowGathers, gathered_vector, row_gathers
from xyntra.passes.lower.gpu.emit.vectors import coalesced_order, lanes_in_memory, vector_of
from xyntra.passes.lower.loops.linear_nest import LinearNest, reordered
from xyntra.passes.lower.loops.loop_builder import Position, load, offset
from xyntra.passes.lower.loops.scalar_nest import index_at
from xyntra.passes.lower.loops.vector_body import broadcast, side_by_side


def gathered_nest(nest: LinearNest) -> tuple[LinearNest, RowGathers] | None:
    """Return `nest`, its innermost loop last, and what it gathers along that; None for nothing.

    `nest` is collapsed.
    """
    if nest.reads_outputs or not nest.indices or not nest.loops:
        return None
    ordered = reordered(nest, coalesced_order(nest))
    found = row_gathers(ordered, len(ordered.loops) - 1, numbered=True)
    return None if found is None else (ordered, found)


def gathered_lanes(nest: LinearNest) -> int:
    """Return how many contiguous elements a thread can gather at once; 1 for none."""
    found = gathered_nest(nest)
    if found is None:
        return 1
    ordered, gathers = found
    inputs = enumerate(ordered.inputs)
    moving = tuple(each for number, each in inputs if number not in gathers.arguments)
    lanes = lanes_in_memory(replace(ordered, inputs=moving), len(ordered.loops) - 1)
    while not gathers.fit(lanes):
        lanes //= 2
    return lanes if lanes > 1 and gathers.fit(lanes) else 1


def emit_gathers(
    nest: LinearNest, gathers: RowGathers, lanes: int, steps: Sequence[Position]
) -> list[list[ir.Value]]:
    """Emit a vector of every output for each step, and return them.

    Args:
        nest: what `gathered_nest` returns.
        gathers: what it gathers.
        lanes: elements of a vector.
        steps: where each one begins.
    """
    known = [_known(nest, gathers, lanes, position) for position in steps]
    return side_by_side(nest.body, known, lanes)


def _known(
    nest: LinearNest, gathers: RowGathers, lanes: int, position: Position
) -> dict[ir.Value, ir.Value]:
    """Load what a step needs; return what stands for arguments and results of the body."""
    inner = len(nest.loops) - 1
    once: dict[ir.Value, ir.Value] = {}
    for number in gathers.arguments:
        access = nest.inputs[number]
        value = access.value if access.is_scalar else load(access, offset(access, position))
        once[nest.body.arguments[number]] = value
    for op in gathers.rows:
        number = ir.IntegerAttr(op.attributes["dim"]).value
        once[op.result] = index_at(nest, number, position)
    for op in gathers.once:
        repeat(op, once)
    known = {
        each: value if isinstance(value.type, ir.IndexType) else broadcast(value, lanes)
        for each, value in once.items()
    }
    for number, access in enumerate(nest.inputs):
        if number not in gathers.arguments:
            vector = vector_of(access, inner, lanes, position)
            known[nest.body.arguments[number]] = vector
    for op in gathers.loads:
        memory, *indices = op.operands
        place = [*(once.get(each, each) for each in indices[:-1]), position[inner]]
        known[op.result] = gathered_vector(memory, place, lanes)
    return known
