# SPDX-License-Identifier: MIT OR Apache-2.0
"""`merge-siblings`: operations over the same loops that share what they read, or interleave."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.stages.stage import tidy, working
from xyntra.passes.lower.nests.element_nests import (
    are_independent,
    elementwise_nest,
    identity_of,
    repeated,
)
from xyntra.passes.lower.nests.kernel_function import entry_block, kernel_function
from xyntra.passes.lower.nests.linear_nest import (
    Access,
    LinearNest,
    collapsed,
    part,
    without_units,
)
from xyntra.passes.lower.nests.memrefs import root
from xyntra.passes.lower.nests.nest_generic import generic_of
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
    looked at.
    """

    name: ClassVar[str] = "merge-siblings"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the kernel of `module`."""
        function = kernel_function(module)
        work = working(entry_block(function))
        nests = [elementwise_nest(op) for op in work]
        plain = [each for each in nests if each is not None and not each.reads_outputs]
        known = [without_units(each) for each in plain]
        if len(known) == len(work):
            for members in _groups(known):
                _merge([work[number] for number in members], [known[n] for n in members])
        tidy(function)


def _groups(nests: Sequence[LinearNest]) -> Iterator[list[int]]:
    """Yield the numbers of nests that become one; alone where one is unrolled."""
    taken: set[int] = set()
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
    read = {identity_of(each) for nest in nests for each in nest.inputs if _moves(each)}
    if any(identity_of(each) in read for each in other.inputs if _moves(each)):
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


def _moves(access: Access) -> bool:
    return not access.is_scalar and any(access.strides)


def _interleave(first: Access, second: Access) -> bool:
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

    with ops[0].location, ir.InsertionPoint(ops[0]):
        generic_of(nests[0].loops, list(inputs.values()), outputs, body)
    for op in ops:
        op.erase()


def _without(nest: LinearNest, loop: int) -> LinearNest:
    """Return a nest without a loop of one iteration."""
    others = [number for number in range(len(nest.loops)) if number != loop]

    def kept(access: Access) -> Access:
        return Access(access.value, access.offset, tuple(access.strides[n] for n in others))

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
