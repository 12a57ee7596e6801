# SPDX-License-Identifier: MIT OR Apache-2.0
"""Merges the epilogue of a contraction, elementwise code on its result, into its loops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.size import of_several
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest, Loop, linear_nest
from xyntra.passes.lower.loops.memrefs import is_private, root
from xyntra.passes.lower.tensor.row_major import common_refinement, row_major_steps


@dataclass(frozen=True)
class Epilogue:
    """Scalar code on each element of a contraction's result.

    Attributes:
        inputs: for every argument of `body` but the last ones, which stand for what its outputs
            held: an operand, or None, which is the result itself.
        outputs: where the values that `body` yields go.
        body: arithmetic, which does not look at what its outputs held.
        result: where the contraction's result goes, if it is also read elsewhere.
        is_in_place: an element of an output is also read, so that it may be computed only once.
        parts: where two columns of the result are read, which of them each input is.
    """

    inputs: tuple[BufferOperand | None, ...]
    outputs: tuple[BufferOperand, ...]
    body: ir.Block
    result: BufferOperand | None
    is_in_place: bool
    parts: tuple[int, ...] = ()

    def moved(self, loop: int, steps: int) -> Epilogue:
        """Return what happens `steps` further on along a loop; outputs stay what they are."""
        inputs = [
            each
            if each is None or each.is_scalar
            else replace(each, offset=each.offset + steps * each.strides[loop])
            for each in self.inputs
        ]
        return replace(self, inputs=tuple(inputs))

    @property
    def accesses(self) -> tuple[BufferOperand, ...]:
        """Everything that it reads or writes in memory."""
        kept = [] if self.result is None else [self.result]
        inputs = [each for each in self.inputs if each is not None and not each.is_scalar]
        return (*self.outputs, *kept, *inputs)


@dataclass(frozen=True)
class FusedNest:
    """A contraction and what follows it, as one nest with the operands of both.

    Attributes:
        nest: the loops; first come the contraction's own operands, among the outputs its result,
            where that is kept.
        core_inputs: how many inputs are the contraction's own.
        is_result: for each input of the operation that follows, whether it is the result.
        body: of the operation that follows; None where there is none.
        keeps: the result is also read elsewhere.
        is_in_place: an element of an output is also read.
    """

    nest: LinearNest
    core_inputs: int
    is_result: tuple[bool, ...] = ()
    body: ir.Block | None = None
    keeps: bool = False
    is_in_place: bool = False

    def parts(self, nest: LinearNest) -> tuple[LinearNest, Epilogue | None]:
        """Split `nest`, equal to `self.nest` but for its loops and buffers."""
        if self.body is None:
            return nest, None
        operands = iter(nest.inputs[self.core_inputs :])
        epilogue = Epilogue(
            tuple(None if each else next(operands) for each in self.is_result),
            nest.outputs[1:] if self.keeps else nest.outputs,
            self.body,
            nest.outputs[0] if self.keeps else None,
            self.is_in_place,
        )
        inputs = nest.inputs[: self.core_inputs]
        return replace(nest, inputs=inputs, outputs=epilogue.outputs[:1]), epilogue


def joined(
    fill: ir.Operation,
    contraction: ir.Operation,
    following: ir.Operation | None,
    *,
    flat: bool = True,
) -> FusedNest | None:
    """Return the loops of `contraction` with what `following` does to its result.

    None where `following` does not take the elements one by one, or where its results may not
    appear before the contraction has read everything.

    Args:
        fill: gives the result its first value.
        contraction: a linalg.generic that satisfies `is_linear`, with one output.
        following: another one without reductions, which reads that output; None for nothing.
        flat: as for `linear_nest`.
    """
    core = linear_nest(contraction, flat=flat)
    if following is None:
        return FusedNest(core, len(core.inputs))
    memory = root(contraction.operands[-1])
    after = linear_nest(following, flat=flat)
    is_result = tuple(not each.is_scalar and root(each.value) == memory for each in after.inputs)
    in_place = _reads_what_it_writes(core, after, is_result)
    if in_place is None or not all(_is_injective(after, each) for each in after.outputs):
        return None
    both = _joined(core, after, is_result)
    if both is None:
        return None
    writes_over = any(root(each.value) == memory for each in after.outputs)
    keeps = not writes_over and not is_private(memory, [fill, contraction, following])
    both = replace(both, outputs=both.outputs if keeps else both.outputs[1:])
    return FusedNest(both, len(core.inputs), is_result, after.body, keeps, in_place)


def _reads_what_it_writes(
    core: LinearNest, after: LinearNest, is_result: Sequence[bool]
) -> bool | None:
    """Tell whether `after` works in place; None where tiles would read what others have written."""
    written = [(root(each.value), each) for each in after.outputs]
    memories = [memory for memory, _ in written]
    if any(not each.is_scalar and root(each.value) in memories for each in core.inputs):
        return None
    in_place = False
    for access, skip in zip(after.inputs, is_result, strict=True):
        if skip or access.is_scalar:
            continue
        for memory, output in written:
            if memory != root(access.value):
                continue
            if access.strides != output.strides or access.start != output.start:
                return None
            in_place = True
    return in_place


def _is_injective(nest: LinearNest, access: BufferOperand) -> bool:
    """Tell whether no two iterations touch one element."""
    occupied = 1
    steps = zip(access.strides, nest.loops, strict=True)
    for stride, loop in sorted(steps, key=lambda step: int(step[0])):
        if int(loop.extent) > 1:
            if stride < occupied:
                return False
            occupied += stride * (loop.extent - 1)
    return True


@dataclass(frozen=True)
class _Walk:
    """The parallel loops of a nest by the distance that they move in one contiguous buffer."""

    loops: tuple[tuple[int, int, int], ...]
    """Number, extent and distance of each, the longest distance first."""

    @classmethod
    def along(cls, nest: LinearNest, access: BufferOperand) -> _Walk | None:
        loops = [
            (number, loop.extent, access.strides[number])
            for number, loop in enumerate(nest.loops)
            if not loop.is_reduction and int(loop.extent) > 1
        ]
        loops.sort(key=lambda loop: -int(loop[2]))
        extents = [extent for _, extent, _ in loops]
        if [distance for *_, distance in loops] != row_major_steps(extents):
            return None
        return cls(tuple(loops))

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(extent for _, extent, _ in self.loops)

    def stride(self, access: BufferOperand, step: int) -> int:
        """How far `access` moves where the walk moves by `step`, part of one of its loops."""
        for number, extent, distance in self.loops:
            if not of_several(step, distance) and of_several(step, distance * extent):
                return access.strides[number] * (step // distance)
        return 0


def _pieces(core: LinearNest, shape: Sequence[int]) -> list[tuple[Loop, int, int]]:
    """Return the loops of `core`, cut so that they walk through its output by `shape`.

    Each with the number of the loop that it is a piece of, and its step in the output, 0 for a
    reduction.
    """
    steps = row_major_steps(shape)
    found: list[tuple[Loop, int, int]] = []
    for number, loop in enumerate(core.loops):
        if loop.is_reduction:
            found.append((loop, number, 0))
            continue
        distance = core.outputs[0].strides[number]
        for extent, step in zip(shape, steps, strict=True):
            is_inside = of_several(step, distance * loop.extent)
            if int(loop.extent) > 1 and not of_several(step, distance) and is_inside:
                found.append((Loop(extent, is_reduction=False), number, step))
    return found


def _joined(core: LinearNest, after: LinearNest, is_result: Sequence[bool]) -> LinearNest | None:
    """Return `core` with the other operands of `after` behind its own; None where they differ.

    The loops are cut into pieces that both nests are made of.
    """
    results = [each for each, found in zip(after.inputs, is_result, strict=True) if found]
    if not results:
        return None  # it writes another part of the same memory, as of a concatenation
    result = core.outputs[0]
    walk, other = _Walk.along(core, result), _Walk.along(after, results[0])
    is_same = all(each.strides == results[0].strides for each in results)
    starts = {each.start for each in [result, *results]}
    if walk is None or other is None or not is_same or len(starts) > 1:
        return None
    shape = common_refinement(walk.shape, other.shape)
    if shape is None:
        return None
    pieces = _pieces(core, shape)

    def cut(access: BufferOperand) -> BufferOperand:
        return replace(
            access,
            strides=tuple(
                walk.stride(access, step) if step else access.strides[number]
                for _, number, step in pieces
            ),
        )

    def moved(access: BufferOperand) -> BufferOperand:
        strides = [other.stride(access, step) if step else 0 for *_, step in pieces]
        return replace(access, strides=tuple(strides))

    others = [each for each, found in zip(after.inputs, is_result, strict=True) if not found]
    return LinearNest(
        tuple(loop for loop, *_ in pieces),
        (*map(cut, core.inputs), *map(moved, others)),
        (cut(result), *map(moved, after.outputs)),
        core.body,
    )
