# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests as loops over rows, each row in vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cpu.streams import streams_of
from xyntra.passes.lower.cpu.vector_rows import Key, RowPass, key, row_passes
from xyntra.passes.lower.cpu.vector_walk import Row, emit_row
from xyntra.passes.lower.nests.linear_nest import Access, LinearNest, part, reordered, split
from xyntra.passes.lower.nests.loop_builder import Position, loop
from xyntra.passes.lower.nests.memrefs import root
from xyntra.passes.lower.nests.scalar_nest import emit_nest, order_of

_BLOCK = 2048  # elements of one long row that are a row of their own, for threads to share


@dataclass(frozen=True)
class Vectors:
    """What vector code needs to know of the machine.

    Attributes:
        bits: width of a vector register; 0 for scalar code.
        cache_bytes: a kernel that moves more finds nothing of it in the caches again.
    """

    bits: int
    cache_bytes: int


def emit_vector_rows(nests: Sequence[LinearNest], count: int, vectors: Vectors) -> bool:
    """Emit nests that share their `count` outer loops; False, and nothing, if vectors do not fit.

    Memory that is allocated and not used yet is private to a row.
    """
    passes = row_passes(nests, count) if vectors.bits else None
    if passes is None or not any(row_pass.length for row_pass in passes):
        return False
    private = {root(each.value) for nest in nests for each in nest.outputs if _is_new(each)}
    streams = streams_of(passes, count, private, vectors.cache_bytes)
    unread = _unread(passes, private)
    lanes = vectors.bits // 32

    def emit_loops(position: Position) -> None:
        number = len(position)
        if number == count:
            emit_row(passes, Row(position, lanes, streams, unread))
            return
        outer = nests[0].loops[number]
        with loop(outer.extent, parallel=not outer.is_reduction) as step:
            emit_loops(position | {number: step})

    emit_loops({})
    return True


def emit_vector_nest(nest: LinearNest, vectors: Vectors) -> bool:
    """As `emit_vector_rows`, for one nest whose loops may come in any order."""
    if not nest.loops or not vectors.bits:
        return False
    nest = reordered(nest, order_of(nest, {}))
    count = len(nest.loops) - 1
    if row_passes([nest], count) is None:
        return False
    blocks = nest.loops[0].extent // _BLOCK
    if count or blocks < 2 or nest.loops[0].is_reduction:
        return emit_vector_rows([nest], count, vectors)
    main = split(part(nest, 0, 0, blocks * _BLOCK), 0, _BLOCK)
    emit_vector_rows([main], 1, vectors)
    left = nest.loops[0].extent % _BLOCK
    if left:
        rest = part(nest, 0, blocks * _BLOCK, left)
        if not emit_vector_rows([rest], 0, vectors):
            emit_nest(rest, {})
    return True


def _is_new(access: Access) -> bool:
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
