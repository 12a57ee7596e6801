# SPDX-License-Identifier: MIT OR Apache-2.0
"""Classifies accesses of row kernels: along the row, at one place of it, or neither."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.emit.vectors import item_bytes
from xyntra.passes.lower.kernels.pieces import are_apart
from xyntra.passes.lower.kernels.row_group import written_pieces
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import is_private, root

Place = tuple[int, tuple[int, ...], tuple[int, ...]]
"""What tells apart the elements of one buffer that accesses touch."""

_FEW_OPERATIONS = 24
_SECTOR = 32  # bytes of memory that are moved together
_WASTE = 1 << 21  # bytes: moving less takes no longer than another launch


def row_accesses(nest: LinearNest, count: int) -> Iterator[BufferOperand]:
    """Yield the accesses to memory that move along a row, element by element."""
    for access in nest.accesses:
        if is_row(nest, access, count) and access.every == 1:
            yield access


def first_reads(nests: Sequence[LinearNest], count: int) -> list[tuple[LinearNest, BufferOperand]]:
    """Return where arrays that move along a row are read before one of `nests` has written them."""
    written: set[ir.Value] = set()
    found = []
    for nest in nests:
        for access in nest.accesses if nest.reads_outputs else nest.inputs:
            is_moving = is_row(nest, access, count) and access.every == 1
            if is_moving and root(access.value) not in written:
                found.append((nest, access))
        written |= {root(each.value) for each in nest.outputs}
    return found


def is_row(nest: LinearNest, access: BufferOperand, count: int) -> bool:
    """Tell whether an access moves along a row."""
    return not access.is_scalar and len(nest.loops) > count and access.strides[count] != 0


def is_recomputed(nest: LinearNest, count: int, generics: Sequence[ir.Operation]) -> bool:
    """Tell whether what `nest` computes of a row is better computed anew than kept."""
    if len(nest.loops) == count or nest.reductions or nest.reads_outputs:
        return False
    if not all(is_private(root(each.value), generics) for each in nest.outputs):
        return False
    operations = [view.operation.name for view in nest.body.operations]
    return len(operations) <= _FEW_OPERATIONS and "memref.load" not in operations


def is_common(access: BufferOperand, count: int) -> bool:
    """Tell whether an access along a row touches the same elements in every row."""
    return count > 0 and not any(access.strides[:count])


def place_of(nest: LinearNest, access: BufferOperand, count: int) -> Place:
    """Return what tells apart the elements of one buffer that two accesses touch."""
    start = access.start
    along = access.strides[count] if is_row(nest, access, count) else 0
    jumps = (number for jump in access.jumps for number in jump)
    return start, access.strides[:count], (along, *jumps)


def wastes_sectors(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether blocks that each take a row would read much more than rows have.

    So it is where only a few contiguous elements are of one row, as the channels of a group in an
    image with channels last.
    """
    return any(
        _wasted(nest, access, count) > _WASTE
        for nest in nests
        for access in nest.inputs
        if len(nest.loops) > count and not access.is_scalar
    )


def _wasted(nest: LinearNest, access: BufferOperand, count: int) -> int:
    """Return how many bytes are moved with those of an access that other rows ask for."""
    item = item_bytes(access) or 1
    steps = sorted(
        (abs(step), loop.extent)
        for step, loop in zip(access.strides[count:], nest.loops[count:], strict=True)
    )
    run = 1
    for step, extent in steps:
        if step == run:
            run *= extent
    beside = [abs(step) for step in access.strides[:count] if step]
    if run * item >= _SECTOR or not beside or min(beside) * item >= _SECTOR:
        return 0
    pairs = zip(access.strides, nest.loops, strict=True)
    elements = prod(loop.extent for step, loop in pairs if step)
    return elements // run * (_SECTOR - run * item)


def is_written_where_read(nests: Sequence[LinearNest], count: int) -> bool:
    """Tell whether every buffer that is written is touched at the same element in every nest.

    Nests may write pieces of one that none of them reads, or read and write the same pieces.
    """
    written = {root(each.value) for nest in nests for each in nest.outputs}
    places: dict[ir.Value, dict[Place, tuple[LinearNest, BufferOperand]]] = {}
    for nest in nests:
        for access in nest.accesses:
            if not access.is_scalar and root(access.value) in written:
                found = places.setdefault(root(access.value), {})
                found.setdefault(place_of(nest, access, count), (nest, access))
    several = {buffer for buffer, found in places.items() if len(found) > 1}
    several = {each for each in several if not are_apart(list(places[each].values()))}
    same = not several or several <= written_pieces(nests)
    return same and not _races(nests, count, written)


def _races(nests: Sequence[LinearNest], count: int, written: set[ir.Value]) -> bool:
    """Tell whether threads would read from memory what one of them then writes for the row."""
    known: set[ir.Value] = set()
    for nest in nests:
        is_scalar = len(nest.loops) == count
        read = nest.accesses if nest.reads_outputs and is_scalar else nest.inputs
        for access in read:
            if access.is_scalar or is_row(nest, access, count):
                continue
            if root(access.value) in written - known:
                return True
        known |= {root(each.value) for each in nest.outputs}
    return False
