# SPDX-License-Identifier: MIT OR Apache-2.0
"""Vectorises loop nests along rows: loops over rows, vectors along each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import most_of
from xyntra.passes.lower.cpu.rows.streams import streams_of
from xyntra.passes.lower.cpu.rows.vector_rows import Key, RowPass, key, row_passes
from xyntra.passes.lower.cpu.rows.vector_walk import Row, emit_row
from xyntra.passes.lower.cpu.schedule.emitter import Choices
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, part, reordered, split
from xyntra.passes.lower.loops.loop_builder import Position, loop
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.scalar_nest import emit_nest, order_of

BLOCK = 2048
"""Elements of one long row that are a row of their own, for threads to share."""


@dataclass(frozen=True)
class RowChoices(Choices):
    """The choices of the emitter of rows.

    Attributes:
        nests: how many nests share their loops over rows.
        vector: elements of 32 bits in a vector.
        block: elements of one long row that are a row of their own, for threads to share.
        past_caches: whether results that nothing reads here are stored past the caches.
    """

    nests: int = 1
    vector: int = 0
    block: int = BLOCK
    past_caches: bool = False


def fit_rows(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether nests that share their `count` outer loops can walk through rows in vectors."""
    passes = row_passes(nests, count)
    return passes is not None and any(row_pass.length for row_pass in passes)


def emit_vector_rows(nests: Sequence[LinearNest], count: int, told: RowChoices) -> None:
    """Emit nests that share their `count` outer loops, and satisfy `fit_rows`.

    Memory that is allocated and not used yet is private to a row.

    Raises:
        ValueError: they do not.
    """
    passes = row_passes(nests, count)
    if passes is None:
        raise ValueError("vectors cannot walk through these rows")
    private = {root(each.value) for nest in nests for each in nest.outputs if _is_new(each)}
    streams = streams_of(passes, count, private, past_caches=told.past_caches)
    unread = _unread(passes, private)

    def emit_loops(position: Position) -> None:
        number = len(position)
        if number == count:
            emit_row(passes, Row(position, told.vector, streams, unread))
            return
        outer = nests[0].loops[number]
        with loop(outer.extent, parallel=not outer.is_reduction) as step:
            emit_loops(position | {number: step})

    emit_loops({})


def in_row_order(nest: LinearNest) -> LinearNest | None:
    """Return `nest` with the loops in the best order; None where it cannot walk in vectors."""
    if not nest.loops:
        return None
    nest = reordered(nest, order_of(nest, {}))
    return nest if fit_rows([nest], len(nest.loops) - 1) else None


def emit_vector_nest(nest: LinearNest, told: RowChoices) -> None:
    """As `emit_vector_rows`, for one nest that comes from `in_row_order`."""
    count = len(nest.loops) - 1
    blocks = nest.loops[0].extent // told.block
    if count or most_of(blocks) < 2 or nest.loops[0].is_reduction:
        emit_vector_rows([nest], count, told)
        return
    main = split(part(nest, 0, 0, blocks * told.block), 0, told.block)
    emit_vector_rows([main], 1, told)
    left = nest.loops[0].extent % told.block
    if not left:
        return
    rest = part(nest, 0, blocks * told.block, left)
    if fit_rows([rest], 0):
        emit_vector_rows([rest], 0, told)
    else:
        emit_nest(rest, {})


def _is_new(access: BufferOperand) -> bool:
    memory = access.value
    is_allocated = not isinstance(memory.owner, ir.Block) and memory.owner.name == "memref.alloc"
    return is_allocated and not list(memory.uses)


def _unread(passes: Sequence[RowPass], private: set[ir.Value]) -> set[Key]:
    """What every reader gets from a register: all who touch that memory do so at the same place."""
    users: dict[ir.Value, set[tuple[int, Key]]] = {}
    for number, row_pass in enumerate(passes):
        for nest in row_pass.everything:
            for each in nest.accesses:
                if not each.is_scalar:
                    walked = number if key(each)[2][-1:] == (1,) else -1
                    users.setdefault(root(each.value), set()).add((walked, key(each)))
    return {
        next(iter(found))[1]
        for memory, found in users.items()
        if memory in private and len(found) == 1
    }
