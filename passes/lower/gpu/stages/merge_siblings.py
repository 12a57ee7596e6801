# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-siblings`: operations over the same loops that share what they read, or interleave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import entry_block, kernel_function
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.lower.gpu.attention.group import attention_group, is_attention
from xyntra.passes.lower.gpu.stages.stage import tidy, working
from xyntra.passes.lower.kernels.element_nests import (
    are_independent,
    elementwise_nest,
    identity_of,
    repeated,
)
from xyntra.passes.lower.loops.linear_nest import (
    BufferOperand,
    LinearNest,
    collapsed,
    part,
    without_units,
)
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.nest_generic import generic_of
from xyntra.passes.registry import register_pass

_MOST_INPUTS = 8  # that a thread loads together
_MOST_OUTPUTS = 8
_MOST_APART = 4  # elements between neighbours of one array, in a loop that is unrolled


@register_pass
@dataclass(frozen=True)
class MergeSiblings:
    """Make one operation of independent ones that touch the same vectors of memory.

    Those are operations over the same loops that read an array at the same elements, or whose
    results lie between one another. A short loop along which an array is contiguous, where another
    one is contiguous along a longer loop (the channels of a pixel, the phases of a shuffled image),
    is unrolled, so that a thread has vectors of both. Kernels of elementwise operations alone are
    looked at, and of these before attention, such as rotary embeddings; what makes its masks stays.
    Where there are others, such as a norm before a rotation, results that lie between one another
    are merged alone.
    """

    name: ClassVar[str] = "merge-siblings"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        work = working(entry_block(function))
        masks, is_plain = _masks(work), True
        runs: list[list[tuple[ir.Operation, LinearNest]]] = [[]]
        for op in work:
            if is_attention(op):
                runs.append([])
                continue
            nest = elementwise_nest(op)
            if nest is None or nest.reads_outputs:
                is_plain = False
                runs.append([])
                continue
            runs[-1].append((op, without_units(nest)))
        for run in runs:
            fixed = {number for number, (op, _) in enumerate(run) if op in masks}
            for members in list(_groups([nest for _, nest in run], fixed)):
                if not is_plain and not _interleaves([run[number][1] for number in members]):
                    continue
                chosen = [run[number] for number in members]
                _merge([op for op, _ in chosen], [nest for _, nest in chosen])
        tidy(function)


def _masks(work: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return what makes masks of attention, and so will share its launch."""
    places = [place for place, op in enumerate(work) if is_attention(op)]
    groups = [attention_group(work, place) for place in places]
    return [op for each in groups if each for op in each.operations[:-1]]


def _groups(nests: Sequence[LinearNest], fixed: Set[int]) -> Iterator[list[int]]:
    """Yield the numbers of nests that become one; alone where one is unrolled.

    Those of `fixed` stay what they are.
    """
    taken = set(fixed)
    for number, nest in enumerate(nests):
        if number in taken:
            continue
        members = [number]
        for other in range(number + 1, len(nests)):
            # It moves to the first one's place.
            between = [nests[n] for n in range(number, other) if n not in members]
            if other in taken or not _are_siblings([nests[n] for n in members], nests[other]):
                continue
            if all(are_independent(each, nests[other]) for each in between):
                members.append(other)
        taken.update(members)
        if len(members) > 1 or _unrolled(nest) is not None:
            yield members


def _are_siblings(nests: Sequence[LinearNest], other: LinearNest) -> bool:
    if nests[0].loops != other.loops or not _fit([*nests, other]):
        return False
    if not all(are_independent(each, other) for each in nests):
        return False
    read = {identity_of(each) for nest in nests for each in nest.inputs if _is_whole(each, other)}
    if any(identity_of(each) in read for each in other.inputs if _is_whole(each, other)):
        return True
    return any(
        _interleave(first, second)
        for nest in nests
        for first in nest.outputs
        for second in other.outputs
    )


def _fit(nests: Sequence[LinearNest]) -> bool:
    inputs = {identity_of(each) for nest in nests for each in nest.inputs}
    outputs = sum(len(nest.outputs) for nest in nests)
    return len(inputs) <= _MOST_INPUTS and outputs <= _MOST_OUTPUTS


def _moves(access: BufferOperand) -> bool:
    return not access.is_scalar and any(access.strides)


def _is_whole(access: BufferOperand, nest: LinearNest) -> bool:
    """Tell whether every iteration reads an element of its own: others are cached."""
    pairs = zip(access.strides, nest.loops, strict=True)
    return not access.is_scalar and all(step or loop.extent == 1 for step, loop in pairs)


def _interleaves(nests: Sequence[LinearNest]) -> bool:
    """Tell whether the results of each of several nests lie between those of the first."""
    first, *others = nests
    return bool(others) and all(
        any(_interleave(own, each) for own in first.outputs for each in nest.outputs)
        for nest in others
    )


def _interleave(first: BufferOperand, second: BufferOperand) -> bool:
    """Tell whether elements of one output lie between neighbours of another one."""
    steps = [step for step in first.strides if step]
    is_same = root(first.value) == root(second.value) and first.strides == second.strides
    return is_same and bool(steps) and 0 < abs(first.start - second.start) < min(steps)


def _merge(ops: Sequence[ir.Operation], nests: Sequence[LinearNest]) -> None:
    """Put one operation in the place of several, or of one with a loop that is unrolled."""
    if len(nests) == 1:
        nest, loop = _unrolled(nests[0]) or (nests[0], 0)
        extent = nest.loops[loop].extent
        nests = [_without(part(nest, loop, start, 1), loop) for start in range(extent)]
    inputs = {identity_of(each): each for nest in nests for each in nest.inputs}
    outputs = [each for nest in nests for each in nest.outputs]

    def body(given: list[ir.Value]) -> list[ir.Value]:
        known = dict(zip(inputs, given, strict=False))
        results = []
        for nest in nests:
            results += repeated(nest.body, [known[identity_of(each)] for each in nest.inputs])
        return results

    for each in [*inputs.values(), *outputs]:
        _bring_before(each.value, ops[0])
    with ops[0].location, ir.InsertionPoint(ops[0]):
        generic_of(nests[0].loops, list(inputs.values()), outputs, body)
    for op in ops:
        op.erase()


def _bring_before(value: ir.Value, place: ir.Operation) -> None:
    """Move an allocation, or a view with what it is of, before an operation of the same block."""
    owner = owner_of(value)
    if owner is None or owner.is_before_in_block(place):
        return
    for operand in owner.operands:
        _bring_before(operand, place)
    owner.move_before(place)


def _without(nest: LinearNest, loop: int) -> LinearNest:
    """Return a nest without a loop of one iteration."""
    others = [number for number in range(len(nest.loops)) if number != loop]

    def kept(access: BufferOperand) -> BufferOperand:
        return BufferOperand(access.value, access.offset, tuple(access.strides[n] for n in others))

    loops = tuple(nest.loops[number] for number in others)
    inputs, outputs = tuple(map(kept, nest.inputs)), tuple(map(kept, nest.outputs))
    return LinearNest(loops, inputs, outputs, nest.body)


def _unrolled(nest: LinearNest) -> tuple[LinearNest, int] | None:
    """Return a nest with a loop to unroll; None where there is none."""
    simple = collapsed(nest)
    accesses = [each for each in simple.accesses if _moves(each)]
    for short, loop in enumerate(simple.loops):
        if not 1 < loop.extent <= _MOST_APART:
            continue
        copies = loop.extent
        if copies * len(simple.inputs) > _MOST_INPUTS or copies * len(nest.outputs) > _MOST_OUTPUTS:
            continue
        for long in range(len(simple.loops)):
            pairs = {(each.strides[short], each.strides[long]) for each in accesses}
            others = [step for step, along in pairs if along == 1]
            if (1, copies) in pairs and others and 1 not in others:
                return simple, short
    return None
