# SPDX-License-Identifier: MIT OR Apache-2.0
"""Joins contractions with what belongs to the rows of their results.

That is what gives their epilogues values of each row (`row_values`), and what adds up parts of the
rows that they write (`row_partials`). Both are small; as launches of their own they would take as
long as a small product.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.cuda.contraction.group import ContractionGroup
from xyntra.passes.lower.cuda.contraction.row_shapes import find_partials, find_values
from xyntra.passes.lower.cuda.contraction.row_values import accesses_of
from xyntra.passes.lower.cuda.contraction.select import takes_rows
from xyntra.passes.lower.cuda.launch_groups import is_nest
from xyntra.passes.lower.cuda.stages import Stage
from xyntra.passes.lower.gpu.device import Device
from xyntra.passes.lower.nests.linear_nest import Access, linear_nest
from xyntra.passes.lower.nests.memrefs import is_private, is_touched_by, root, written_by


def with_row_work(stages: Sequence[Stage], device: Device) -> list[Stage]:
    """Return `stages` with contractions joined by what belongs to their rows.

    Args:
        stages: of a kernel, in order.
        device: that the code is for.
    """
    found = list(stages)
    for number in range(len(found)):
        group = found[number].contraction
        if group is not None and group.partials is None:
            place = _join_partials(found, number, group, device)
            _join_values(found, place, device)
    return found


def _join_partials(
    stages: list[Stage], number: int, group: ContractionGroup, device: Device
) -> int:
    """Join a contraction with the sums behind it; returns where it is then."""
    stage = stages[number]
    if group.slices:
        return number
    behind = _directly_behind(stages, number)
    for count in range(len(behind), 0, -1):
        last = behind[count - 1]
        operations = [op for place in behind[:count] for op in stages[place].operations]
        partials = find_partials(group, operations)
        if partials is None or _read(group) & set(map(root, map(_last, operations))):
            continue
        if not takes_rows(replace(group, partials=partials), device):
            continue
        ending = operations[-1]
        members = (*stage.operations, *operations)
        for op in members[:-1]:
            op.move_before(ending)
        # Views of their operands are made again, where all of them are.
        again = find_partials(group, operations)
        joined = replace(group, operations=members, partials=again)
        for place in (number, *behind[: count - 1]):
            _empty(stages, place)
        stages[last] = Stage(stages[last].region, members, contraction=joined)
        return last
    return number


def _join_values(stages: list[Stage], number: int, device: Device) -> None:
    """Join a contraction with what gives its epilogues values of rows."""
    stage, group = stages[number], stages[number].contraction
    if group is None:
        return
    read = _read_behind(group)
    taken: list[int] = []
    for place in reversed(range(number)):
        if not _is_simple(stages[place]):
            continue
        nests = [linear_nest(op) for op in stages[place].operations]
        if not {root(each.value) for nest in nests for each in nest.outputs} & read:
            continue
        read |= {root(each.value) for each in accesses_of(nests)}
        taken.insert(0, place)
    operations = [op for place in taken for op in stages[place].operations]
    if not operations or not _may_move(stages, operations, stage.operations):
        return
    values = find_values(group, operations)
    if values is None or not takes_rows(replace(group, values=values), device):
        return
    for op in operations:
        op.move_before(stage.operations[0])
    members = (*operations, *stage.operations)
    joined = replace(group, operations=members, values=find_values(group, operations))
    for place in taken:
        _empty(stages, place)
    stages[number] = replace(stage, operations=members, contraction=joined)


def _directly_behind(stages: Sequence[Stage], number: int) -> list[int]:
    """Return the places, behind stage `number`, of loops before the first other stage."""
    found = []
    for place in range(number + 1, len(stages)):
        if _is_simple(stages[place]):
            found.append(place)
        elif not stages[place].is_needless:
            break
    return found


def _is_simple(stage: Stage) -> bool:
    """Tell whether a stage is loops, and no contraction."""
    known = stage.contraction is not None or stage.attention is not None or stage.is_needless
    return not known and all(is_nest(op) for op in stage.operations)


def _empty(stages: list[Stage], place: int) -> None:
    stages[place] = Stage(stages[place].region, (), is_needless=True)


def _last(op: ir.Operation) -> ir.Value:
    return list(op.operands)[-1]


def _read(group: ContractionGroup) -> set[ir.Value]:
    """Return the memory that a contraction and what follows it read."""
    inputs = [each for each in group.nest.inputs if not each.is_scalar]
    return _read_behind(group) | {root(each.value) for each in inputs}


def _read_behind(group: ContractionGroup) -> set[ir.Value]:
    """Return the memory that what follows a contraction reads."""
    inputs: list[Access | None] = []
    if group.epilogue is not None:
        inputs += group.epilogue.inputs
    for each in group.slices:
        inputs += each.epilogue.inputs
    return {root(each.value) for each in inputs if each is not None and not each.is_scalar}


def _may_move(
    stages: Sequence[Stage], operations: Sequence[ir.Operation], group: Sequence[ir.Operation]
) -> bool:
    """Tell whether `operations` give the same where `group` is, which alone reads their results."""
    nests = [linear_nest(op) for op in operations]
    own = {root(each.value) for nest in nests for each in nest.outputs}
    members = [*operations, *group]
    if not all(is_private(each, members) or _is_result(each, members) for each in own):
        return False
    others = [op for stage in stages for op in stage.operations if op not in operations]
    written = {root(value) for op in others for value in written_by(op)}
    inputs = {root(each.value) for nest in nests for each in nest.inputs if not each.is_scalar}
    return not (inputs - own) & written


def _is_result(memory: ir.Value, users: Sequence[ir.Operation]) -> bool:
    """Tell whether `memory` is given to the kernel and touched by `users` only."""
    return isinstance(memory.owner, ir.Block) and is_touched_by(memory, users)
