# SPDX-License-Identifier: MIT OR Apache-2.0
"""Operations behind a contraction that take up some of its columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xyntra.passes.analysis.sizes.size import of_several
from xyntra.passes.lower.gpu.contraction.group import ContractionGroup, Pairing, Slice
from xyntra.passes.lower.gpu.matmul.roles import Roles
from xyntra.passes.lower.kernels.epilogue import Epilogue
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop
from xyntra.passes.lower.loops.memrefs import root, view_offset


@dataclass(frozen=True)
class _Piece:
    """A loop of a follower that is part of a loop of the contraction: number, extent, distance."""

    number: int
    extent: int
    step: int


def slice_of(group: ContractionGroup, after: LinearNest) -> Slice | None:
    """Return what `after` does to some columns of the contraction; None where it is more."""
    found = _followed(group, after)
    if found is None or len(found.starts) != 1:
        return None
    return Slice(found.starts[0], found.columns, found.epilogue)


def pairing_of(group: ContractionGroup, after: LinearNest) -> Pairing | None:
    """Return what `after` does to two columns of the contraction at a time; None for all else.

    Before that, the group's own epilogue may happen to every column.
    """
    own = group.epilogue
    if own is not None and (own.result is not None or own.is_in_place or len(own.outputs) != 1):
        return None
    found = _followed(group, after)
    if found is None or len(found.starts) != 2:
        return None
    first, second = found.starts
    if second - first < found.columns:
        return None  # of halves that overlap, columns would be computed twice
    return Pairing((first, second), found.columns, found.epilogue, own)


@dataclass(frozen=True)
class _Followed:
    """An operation that reads columns of a contraction, from each of `starts` on."""

    starts: tuple[int, ...]
    columns: int
    epilogue: Epilogue


def _followed(group: ContractionGroup, after: LinearNest) -> _Followed | None:
    """Return how `after` reads the contraction; None where it is not column by column."""
    result = group.nest.outputs[0]
    memory = root(result.value)
    is_result = [not each.is_scalar and root(each.value) == memory for each in after.inputs]
    read = [each for each, is_it in zip(after.inputs, is_result, strict=True) if is_it]
    written = [root(each.value) for each in after.outputs]
    others = [each for each, is_it in zip(after.inputs, is_result, strict=True) if not is_it]
    inputs = [*group.nest.inputs, *others]
    if any(not each.is_scalar and root(each.value) in written for each in inputs):
        return None
    if not read or any(each.strides != read[0].strides for each in read):
        return None
    if len(group.roles.columns) != 1 or after.reads_outputs:
        return None
    first = result.offset + view_offset(result.value)
    starts = sorted({each.start - first for each in read})
    pieces = _pieces(group.nest, group.roles, read[0], after.loops)
    if pieces is None or starts[0] < 0:
        return None
    column = pieces[group.roles.columns[-1]]
    columns = column[-1].step * column[-1].extent
    moved = [_on_loops(each, pieces) for each in [*others, *after.outputs]]
    if starts[-1] + columns > group.nest.loops[group.roles.columns[-1]].extent or None in moved:
        return None
    accesses = [each for each in moved if each is not None]
    left = iter(accesses[: len(others)])
    parts = tuple(
        starts.index(each.start - first) if is_it else 0
        for each, is_it in zip(after.inputs, is_result, strict=True)
    )
    epilogue = Epilogue(
        tuple(None if is_it else next(left) for is_it in is_result),
        tuple(accesses[len(others) :]),
        after.body,
        None,
        is_in_place=False,
        parts=parts if len(starts) > 1 else (),
    )
    return _Followed(tuple(starts), columns, epilogue)


def _pieces(
    nest: LinearNest, roles: Roles, read: BufferOperand, loops: Sequence[Loop]
) -> list[list[_Piece]] | None:
    """Return the loops of a follower that each loop of the contraction consists of.

    None where they do not walk through the result as those do; of the columns, some may be left.
    """
    result = nest.outputs[0]
    found: list[list[_Piece]] = [[] for _ in nest.loops]
    left = {i for i, loop in enumerate(loops) if of_several(1, loop.extent)}
    order = [i for i, loop in enumerate(nest.loops) if not loop.is_reduction]
    for number in order:
        distance, extent = result.strides[number], nest.loops[number].extent
        step = 1
        while of_several(step, extent):
            match = [i for i in left if read.strides[i] == distance * step]
            if len(match) != 1:
                break
            left.discard(match[0])
            found[number].append(_Piece(match[0], loops[match[0]].extent, step))
            step *= loops[match[0]].extent
        if not found[number] or (step != extent and number != roles.columns[-1]):
            return None
    return found if not left else None


def _on_loops(access: BufferOperand, pieces: Sequence[Sequence[_Piece]]) -> BufferOperand | None:
    """Return `access` with strides for the loops of the contraction; None where it has none."""
    if access.is_scalar:
        return replace(access, strides=(0,) * len(pieces))
    strides = []
    for parts in pieces:
        own = access.strides[parts[0].number] if parts else 0
        if any(access.strides[each.number] != own * each.step for each in parts):
            return None
        strides.append(own)
    return replace(access, strides=tuple(strides))
