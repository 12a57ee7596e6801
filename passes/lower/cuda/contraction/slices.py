# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins contractions with several operations behind them, each of which takes some of the columns.

The product of activations with the weights of queries, keys and values side by side is such a one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.contraction.group import ContractionGroup, Slice
from xyntra.passes.lower.cuda.contraction.roles import Roles
from xyntra.passes.lower.cuda.contraction.select import takes_slices
from xyntra.passes.lower.cuda.launch_groups import is_nest
from xyntra.passes.lower.cuda.stages import Stage
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.nests.epilogue import Epilogue
from xyntra.passes.lower.nests.linear_nest import Access, LinearNest, Loop, linear_nest
from xyntra.passes.lower.nests.memrefs import is_private, root, view_offset
from xyntra.passes.lower.nests.vector_body import is_vectorizable

_WIDTH = 64  # columns: slices start at multiples of it


def with_slices(stages: Sequence[Stage], device: Device) -> list[Stage]:
    """Return `stages` with contractions joined by what takes slices of their columns.

    Args:
        stages: of a kernel, in order.
        device: that the code is for.
    """
    found = list(stages)
    for number, stage in enumerate(stages):
        group = stage.contraction
        if group is None or group.epilogue is not None or stage.is_needless:
            continue
        places = [number + each for each in _followers(stages[number:])]
        if places and takes_slices(group, device):
            joined = _joined(group, [found[place] for place in places], device)
            if joined is not None:
                for place in (number, *places[:-1]):
                    found[place] = replace(stages[place], operations=(), contraction=None)
                    found[place] = replace(found[place], is_needless=True)
                found[places[-1]] = joined
    return found


def _followers(stages: Sequence[Stage]) -> list[int]:
    """Return the places of the stages that read what the first one computes; none for others.

    Loops between them that have nothing to do with it may stay where they are.
    """
    contraction = stages[0].operations[-1]
    memory = root(contraction.operands[-1])
    members, found = list(stages[0].operations), []
    for place, stage in enumerate(stages[1:], 1):
        if stage.is_needless:
            continue
        if _is_elementwise(stage) and memory in map(root, _inputs(stage.operations[0])):
            members += stage.operations
            found.append(place)
        elif not all(map(is_nest, stage.operations)) or _depend(stage.operations, members):
            return []
        if is_private(memory, members):
            return found
    return []


def _depend(one: Sequence[ir.Operation], other: Sequence[ir.Operation]) -> bool:
    """Tell whether some operations write what others read or write, or the other way around."""
    read, written = ({root(v) for op in one for v in values(op)} for values in (_inputs, _outputs))
    others = {root(value) for op in other for value in (*_inputs(op), *_outputs(op))}
    produced = {root(value) for op in other for value in _outputs(op)}
    return bool(written & others or read & produced)


def _is_elementwise(stage: Stage) -> bool:
    if len(stage.operations) != 1 or stage.is_needless or not is_nest(stage.operations[0]):
        return False
    op = stage.operations[0]
    return "reduction" not in str(op.attributes["iterator_types"]) and is_vectorizable(
        op.regions[0].blocks[0]
    )


def _inputs(op: ir.Operation) -> list[ir.Value]:
    values = list(op.operands)[: op.attributes["operandSegmentSizes"][0]]
    return [value for value in values if isinstance(value.type, ir.MemRefType)]


def _outputs(op: ir.Operation) -> list[ir.Value]:
    return list(op.operands)[op.attributes["operandSegmentSizes"][0] :]


def _joined(group: ContractionGroup, followers: Sequence[Stage], device: Device) -> Stage | None:
    """Return one stage in the place of the last follower; None where there can be none."""
    last = followers[-1]
    nests = [linear_nest(stage.operations[0]) for stage in followers]
    slices = [_slice(group, nest) for nest in nests]
    known = tuple(each for each in slices if each is not None)
    if len(known) < len(slices) or not _are_side_by_side(group, known):
        return None
    if not takes_slices(replace(group, slices=known), device):
        return None
    ending = last.operations[-1]
    operations = [*group.operations, *(stage.operations[0] for stage in followers)]
    for op in operations[:-1]:
        op.move_before(ending)
    # Views of their operands are made again, where all of them are.
    nests = [linear_nest(op) for op in operations[-len(followers) :]]
    again = [_slice(group, nest) for nest in nests]
    kept = tuple(each for each in again if each is not None)
    joined = replace(group, operations=tuple(operations), slices=kept)
    return Stage(last.region, tuple(operations), contraction=joined)


def _are_side_by_side(group: ContractionGroup, slices: Sequence[Slice]) -> bool:
    place = 0
    for each in sorted(slices, key=lambda each: each.start):
        if each.start != place or place % _WIDTH:
            return False
        place += each.columns
    return place == group.nest.loops[group.roles.columns[-1]].extent


@dataclass(frozen=True)
class _Piece:
    """A loop of a follower that is part of a loop of the contraction: number, extent, distance."""

    number: int
    extent: int
    step: int


def _slice(group: ContractionGroup, after: LinearNest) -> Slice | None:
    """Return what `after` does to some columns of the contraction; None where it is more."""
    result = group.nest.outputs[0]
    memory = root(result.value)
    is_result = [not each.is_scalar and root(each.value) == memory for each in after.inputs]
    read = [each for each, is_it in zip(after.inputs, is_result, strict=True) if is_it]
    written = [root(each.value) for each in after.outputs]
    others = [each for each, is_it in zip(after.inputs, is_result, strict=True) if not is_it]
    inputs = [*group.nest.inputs, *others]
    if any(not each.is_scalar and root(each.value) in written for each in inputs):
        return None
    starts = {each.start for each in read}
    if len(starts) > 1 or any(each.strides != read[0].strides for each in read):
        return None
    if len(group.roles.columns) != 1 or after.reads_outputs:
        return None
    start = starts.pop() - result.offset - view_offset(result.value)
    pieces = _pieces(group.nest, group.roles, read[0], after.loops)
    if pieces is None or start < 0:
        return None
    column = pieces[group.roles.columns[-1]]
    columns = column[-1].step * column[-1].extent
    moved = [_on_loops(each, pieces) for each in [*others, *after.outputs]]
    if start + columns > group.nest.loops[group.roles.columns[-1]].extent or None in moved:
        return None
    accesses = [each for each in moved if each is not None]
    left = iter(accesses[: len(others)])
    epilogue = Epilogue(
        tuple(None if is_it else next(left) for is_it in is_result),
        tuple(accesses[len(others) :]),
        after.body,
        None,
        is_in_place=False,
    )
    return Slice(start, columns, epilogue)


def _pieces(
    nest: LinearNest, roles: Roles, read: Access, loops: Sequence[Loop]
) -> list[list[_Piece]] | None:
    """Return the loops of a follower that each loop of the contraction consists of.

    None where they do not walk through the result as those do; of the columns, some may be left.
    """
    result = nest.outputs[0]
    found: list[list[_Piece]] = [[] for _ in nest.loops]
    left = {i for i, loop in enumerate(loops) if loop.extent > 1}
    order = [i for i, loop in enumerate(nest.loops) if not loop.is_reduction]
    for number in order:
        distance, extent = result.strides[number], nest.loops[number].extent
        step = 1
        while step < extent:
            match = [i for i in left if read.strides[i] == distance * step]
            if len(match) != 1:
                break
            left.discard(match[0])
            found[number].append(_Piece(match[0], loops[match[0]].extent, step))
            step *= loops[match[0]].extent
        if not found[number] or (step != extent and number != roles.columns[-1]):
            return None
    return found if not left else None


def _on_loops(access: Access, pieces: Sequence[Sequence[_Piece]]) -> Access | None:
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
