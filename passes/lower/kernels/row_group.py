# SPDX-License-Identifier: MIT OR Apache-2.0
"""Nests that can run row by row instead of one after the other.

Two nests may share their outer loops when an iteration of these touches, in every buffer that one
of them writes, a region of its own. Softmax and the norms are made of such nests: with shared loops
a row stays in the first cache from its first use to its last.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import hint_of
from xyntra.passes.lower.kernels.pieces import are_apart
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, split, without_units
from xyntra.passes.lower.loops.memrefs import allocate, is_private, root

_MIN_ROW = 16  # elements; shorter rows vectorise better without shared loops


def shared_loops(
    nests: Sequence[LinearNest],
    *,
    interleaved: bool = False,
    pieces: bool = False,
    shortest: int = _MIN_ROW,
) -> int:
    """Return how many outer loops `nests` can share; 0 where they cannot, or should not.

    Args:
        nests: from `aligned`.
        interleaved: whether elements of one row may lie between those of others.
        pieces: whether they may write pieces of one buffer that none of them reads.
        shortest: elements of the longest loop that is left, at least.
    """
    for count in range(_common_loops(nests), 0, -1):
        if _is_long(nests, count, shortest) and _is_legal(
            nests, count, interleaved=interleaved, pieces=pieces
        ):
            return count
    return 0


def aligned(nests: Sequence[LinearNest]) -> list[LinearNest]:
    """Return equal nests whose outer loops have the same extents as far as that can be.

    Loops of one iteration disappear, and a longer loop is cut where the others end.
    """
    found = [without_units(nest) for nest in nests]
    position = 0
    while all(position < len(nest.loops) for nest in found):
        loops = [nest.loops[position] for nest in found]
        shortest = min(loop.extent for loop in loops)
        if any(loop.is_reduction or loop.extent % shortest for loop in loops):
            break
        for number, loop in enumerate(loops):
            if loop.extent > shortest:
                found[number] = split(found[number], position, loop.extent // shortest)
        position += 1
    return found


def exchange_values(nests: Sequence[LinearNest]) -> bool:
    """Tell whether one of `nests` reads what another one writes, so that sharing loops pays."""
    written = {root(each.value) for nest in nests for each in nest.outputs}
    return any(root(each.value) in written for nest in nests for each in nest.inputs)


def with_row_buffers(
    nests: Sequence[LinearNest],
    count: int,
    generics: Sequence[ir.Operation],
    new_row: Callable[[int, ir.Type], ir.Value | None] = allocate,
) -> list[LinearNest]:
    """Return `nests` with private buffers that hold one row, made at the insertion point.

    Args:
        nests: what shares its `count` outer loops.
        count: the number of loops.
        generics: the operations that the nests come from, and that will be removed.
        new_row: makes a buffer of a number of elements; where it returns None, rows stay parts of
            the whole buffer.
    """
    buffers: dict[ir.Value, ir.Value] = {}
    for access in [each for nest in nests for each in nest.outputs]:
        whole = root(access.value)
        if whole not in buffers and is_private(whole, generics):
            element = ir.MemRefType(whole.type).element_type
            buffer = new_row(_row_size(nests, whole, count, access.strides[count - 1]), element)
            if buffer is not None:
                buffers[whole] = buffer

    def in_row(access: BufferOperand) -> BufferOperand:
        whole = None if access.is_scalar else root(access.value)
        if whole not in buffers:
            return access
        return BufferOperand(buffers[whole], access.start, (*[0] * count, *access.strides[count:]))

    return [
        replace(
            nest,
            inputs=tuple(in_row(each) for each in nest.inputs),
            outputs=tuple(in_row(each) for each in nest.outputs),
        )
        for nest in nests
    ]


def _row_size(nests: Sequence[LinearNest], whole: ir.Value, count: int, step: int) -> int:
    """Return how many elements from the first one on a row of a buffer takes.

    Args:
        nests: what shares its `count` outer loops.
        whole: the buffer.
        count: the number of loops.
        step: from one row to the next; rows whose elements lie apart reach beyond that.
    """
    size = step
    for nest in nests:
        inner = nest.loops[count:]
        if not all(isinstance(loop.extent, int) for loop in inner):
            continue  # such rows are contiguous
        for access in nest.accesses:
            if not access.is_scalar and root(access.value) == whole:
                steps = zip(access.strides[count:], inner, strict=True)
                last = sum(max(0, stride * (loop.extent - 1)) for stride, loop in steps)
                size = max(size, access.start + last + 1)
    return size


@dataclass(frozen=True)
class _Region:
    """The elements that one iteration of the shared loops touches: the first, and past the last."""

    start: int
    end: int


def _common_loops(nests: Sequence[LinearNest]) -> int:
    count = 0
    while True:
        loops = {nest.loops[count] if count < len(nest.loops) else None for nest in nests}
        loop = loops.pop()
        if loops or loop is None or loop.is_reduction:
            return count
        count += 1


def _is_long(nests: Sequence[LinearNest], count: int, shortest: int) -> bool:
    longest = 1
    for nest in nests:
        longest = max([longest, *(hint_of(loop.extent) for loop in nest.loops[count:])])
    return longest >= shortest


def written_pieces(nests: Sequence[LinearNest]) -> set[ir.Value]:
    """Return the buffers that `nests` only write, no two of them the same element."""
    read = {root(each.value) for nest in nests for each in _read(nest)}
    written: dict[ir.Value, list[tuple[LinearNest, BufferOperand]]] = {}
    for nest in nests:
        for each in nest.outputs:
            written.setdefault(root(each.value), []).append((nest, each))
    return {
        buffer
        for buffer, found in written.items()
        if len(found) > 1 and buffer not in read and are_apart(found)
    }


def _read(nest: LinearNest) -> list[BufferOperand]:
    accesses = nest.accesses if nest.reads_outputs else nest.inputs
    return [each for each in accesses if not each.is_scalar]


def _is_legal(nests: Sequence[LinearNest], count: int, *, interleaved: bool, pieces: bool) -> bool:
    extents = [loop.extent for loop in nests[0].loops[:count]]
    written = {root(each.value) for nest in nests for each in nest.outputs}
    if any(buffer in written for nest in nests for buffer in _loaded(nest)):
        return False
    touching = _by_memory(nests)
    apart = written_pieces(nests) if pieces else set()
    for buffer in written - apart:
        accesses = touching[buffer]
        steps = {each.strides[:count] for _, each in accesses}
        if len(steps) != 1:
            return False
        if interleaved and _are_elements(accesses, count):
            continue
        regions = [_region(nest, each, count) for nest, each in accesses]
        if not _are_disjoint(steps.pop(), extents, regions):
            return False
    return True


def _by_memory(
    nests: Sequence[LinearNest],
) -> dict[ir.Value, list[tuple[LinearNest, BufferOperand]]]:
    found: dict[ir.Value, list[tuple[LinearNest, BufferOperand]]] = {}
    for nest in nests:
        for each in nest.accesses:
            if not each.is_scalar:
                found.setdefault(root(each.value), []).append((nest, each))
    return found


def _are_elements(accesses: Sequence[tuple[LinearNest, BufferOperand]], count: int) -> bool:
    """Tell whether all accesses touch the same elements of a row, and no two rows the same."""
    found = {
        (
            each.start,
            tuple(
                (step, loop.extent)
                for step, loop in zip(each.strides, nest.loops, strict=True)
                if step
            ),
        )
        for nest, each in accesses
    }
    if len(found) != 1:
        return False
    occupied = 1
    for step, extent in sorted(found.pop()[1]):
        if step < occupied:
            return False
        occupied = step * extent
    return all(
        step or loop.extent == 1
        for nest, each in accesses[:1]
        for step, loop in list(zip(each.strides, nest.loops, strict=True))[:count]
    )


def _loaded(nest: LinearNest) -> list[ir.Value]:
    """Return the memory that the body reads at places that it computes."""
    operations = [view.operation for view in nest.body.operations]
    return [root(op.operands[0]) for op in operations if op.name == "memref.load"]


def _region(nest: LinearNest, access: BufferOperand, count: int) -> _Region:
    start = end = access.start
    for loop, stride in zip(nest.loops[count:], access.strides[count:], strict=True):
        reach = (loop.extent - 1) * stride
        start, end = (start + reach, end) if stride < 0 else (start, end + reach)
    return _Region(start, end + 1)


def _are_disjoint(steps: Sequence[int], extents: Sequence[int], regions: Sequence[_Region]) -> bool:
    """Tell whether two different iterations never touch one element."""
    if min(region.start for region in regions) < 0:
        return False
    occupied = max(region.end for region in regions)
    for step, extent in zip(reversed(steps), reversed(extents), strict=True):
        if step < occupied:
            return False
        occupied = step * extent
    return True
