# SPDX-License-Identifier: MIT OR Apache-2.0
"""A linalg.generic on memrefs as loops over flat buffers, each access linear in the loops."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from math import prod
from typing import TypeVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.sizes.session import sized_strides
from xyntra.passes.lower.loops.access_strides import (
    IRREGULAR,
    loop_extents,
    loop_strides,
    number_of,
)
from xyntra.passes.lower.loops.memrefs import flattened, has_static_layout, view_offset


@dataclass(frozen=True)
class Loop:
    """A loop from 0 to `extent`."""

    extent: int
    is_reduction: bool


@dataclass(frozen=True)
class BufferOperand:
    """An operand: a flat buffer, or a scalar, which does not move with any loop.

    Attributes:
        value: a memref of one dimension, or a scalar; where nothing is emitted, any memref.
        offset: the element that the first iteration touches.
        strides: how many elements each loop moves on.
        every: iterations of the last loop that it takes to move on, in nests from `stepped`.
        jumps: how much further it is after each so many iterations of the last loop, in nests from
            `jumping`: pairs of these, and of elements.
    """

    value: ir.Value
    offset: int
    strides: tuple[int, ...]
    every: int = 1
    jumps: tuple[tuple[int, int], ...] = ()

    @property
    def is_scalar(self) -> bool:
        """Tell whether the operand is a value rather than memory."""
        return not isinstance(self.value.type, ir.MemRefType)

    @property
    def element_type(self) -> ir.Type:
        """The type of what lies in memory; the operand is no scalar."""
        return ir.MemRefType(self.value.type).element_type

    @property
    def start(self) -> int:
        """The element, counted from where its memory begins, that the first iteration touches."""
        return self.offset + view_offset(self.value)


Strides = tuple[int, ...]
_T = TypeVar("_T")
_Answers = dict[tuple[str, ir.Operation], object]
_answers: ContextVar[_Answers | None] = ContextVar("_answers", default=None)


@dataclass(frozen=True)
class LinearNest:
    """Loops around a scalar body that combines `inputs` with the elements of `outputs`.

    Attributes:
        loops: the loops, outermost first.
        inputs: what the body reads.
        outputs: what it combines that with.
        body: scalar code.
        indices: for every dimension of linalg.index in `body`, how it moves with the loops.
    """

    loops: tuple[Loop, ...]
    inputs: tuple[BufferOperand, ...]
    outputs: tuple[BufferOperand, ...]
    body: ir.Block
    indices: tuple[Strides, ...] = ()

    @property
    def reads_outputs(self) -> bool:
        """Tell whether the body looks at what its outputs hold before."""
        kept = list(self.body.arguments)[len(self.inputs) :]
        return any(list(argument.uses) for argument in kept)

    @property
    def accesses(self) -> tuple[BufferOperand, ...]:
        """All operands, in the order of the body's arguments."""
        return (*self.inputs, *self.outputs)

    @property
    def reductions(self) -> tuple[int, ...]:
        """The numbers of the loops that reduce."""
        return tuple(number for number, loop in enumerate(self.loops) if loop.is_reduction)


@contextmanager
def analysed_once() -> Iterator[None]:
    """Remember of each operation whether it is linear, and its nest, while none of them changes."""
    token = _answers.set({})
    try:
        yield
    finally:
        _answers.reset(token)


def _once(question: str, op: ir.Operation, answer: Callable[[ir.Operation], _T]) -> _T:
    known = _answers.get()
    if known is None:
        return answer(op)
    key = question, op
    if key not in known:
        known[key] = answer(op)
    return known[key]  # type: ignore[return-value]  # a question has answers of one type


def is_linear(generic: ir.Operation) -> bool:
    """Tell whether `LinearNest` can express a linalg.generic on memrefs."""
    return _once("is linear", generic, _is_linear)


def _is_linear(generic: ir.Operation) -> bool:
    if not all(has_static_layout(value) for value in generic.operands):
        return False
    return all(loop_extents(generic)) and all(
        abs(step) < IRREGULAR for steps in loop_strides(generic) for step in steps
    )


def linear_nest(generic: ir.Operation, *, flat: bool = True) -> LinearNest:
    """Express `generic`, which must satisfy `is_linear`.

    Flat views are made before it. Without `flat`, nothing is: its own operands are the values of
    the accesses, so that code cannot be made of the nest, but everything else can be asked.
    """
    if flat:
        return _nest(generic, flat=True)
    return _once("nest", generic, lambda op: _nest(op, flat=False))


def _nest(generic: ir.Operation, *, flat: bool) -> LinearNest:
    extents = loop_extents(generic)
    kinds = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    loops = tuple(Loop(*each) for each in zip(extents, kinds, strict=True))
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    operands = zip(generic.operands, maps, loop_strides(generic), strict=True)
    with generic.location, ir.InsertionPoint(generic):
        accesses = tuple(_access(*operand, flat=flat) for operand in operands)
    inputs = generic.attributes["operandSegmentSizes"][0]
    body = generic.regions[0].blocks[0]
    return LinearNest(loops, accesses[:inputs], accesses[inputs:], body, _indices(body, len(loops)))


def collapsed(nest: LinearNest, fixed: int = 0) -> LinearNest:
    """Return an equal nest with fewer loops; the first `fixed` loops stay.

    Loops of one iteration disappear, and loops that walk through every operand as one longer loop
    would become that loop.
    """
    for number in range(fixed, len(nest.loops)):
        loop = nest.loops[number]
        if loop.extent == 1:
            return collapsed(_without(nest, number), fixed)
        for outer in range(fixed, len(nest.loops)):
            if outer != number and _walks_on(nest, outer, number):
                merged = Loop(loop.extent * nest.loops[outer].extent, loop.is_reduction)
                loops = (*nest.loops[:number], merged, *nest.loops[number + 1 :])
                return collapsed(_without(replace(nest, loops=loops), outer), fixed)
    return nest


def stepped(nest: LinearNest, fixed: int) -> LinearNest:
    """Return an equal nest with one loop in the place of two behind the first `fixed` ones.

    An input that moves with the outer one of them alone then moves on once in several iterations:
    a scale for each channel of an image, in rows of several channels. A nest with other loops, or
    accesses, stays as it is.
    """
    if len(nest.loops) != fixed + 2 or nest.indices:
        return nest
    outer, inner = fixed, fixed + 1
    extent = nest.loops[inner].extent
    if nest.loops[outer].is_reduction != nest.loops[inner].is_reduction:
        return nest

    def walks(access: BufferOperand) -> bool:
        return access.strides[outer] == extent * access.strides[inner]

    if not all(walks(each) or not each.strides[inner] for each in nest.inputs):
        return nest
    if not all(map(walks, nest.outputs)):
        return nest

    def merged(access: BufferOperand) -> BufferOperand:
        if walks(access):
            return replace(access, strides=(*access.strides[:fixed], access.strides[inner]))
        return replace(access, strides=access.strides[: fixed + 1], every=extent)

    loop = Loop(extent * nest.loops[outer].extent, nest.loops[outer].is_reduction)
    inputs, outputs = tuple(map(merged, nest.inputs)), tuple(map(merged, nest.outputs))
    return LinearNest((*nest.loops[:fixed], loop), inputs, outputs, nest.body)


def jumping(nest: LinearNest, fixed: int) -> LinearNest:
    """Return an equal nest with one loop in the place of those behind the first `fixed` ones.

    An input whose elements lie in several runs then jumps from the end of one to the next: rows of
    patches, of which each has some rows of an image. A nest with outputs in runs, or with inputs
    whose elements lie apart, stays as it is.
    """
    extents = [loop.extent for loop in nest.loops[fixed:]]
    kinds = {loop.is_reduction for loop in nest.loops[fixed:]}
    if len(extents) < 2 or len(kinds) > 1 or nest.indices:
        return nest
    found = {each: _jumps(each.strides[fixed:], extents) for each in nest.accesses}
    for each, jumps in found.items():
        is_output = each in nest.outputs
        if each.every > 1 or (jumps and (is_output or each.strides[-1] != 1)):
            return nest

    def merged(access: BufferOperand) -> BufferOperand:
        strides = (*access.strides[:fixed], access.strides[-1])
        return replace(access, strides=strides, jumps=found[access])

    loop = Loop(prod(extents), kinds.pop())
    inputs, outputs = tuple(map(merged, nest.inputs)), tuple(map(merged, nest.outputs))
    return LinearNest((*nest.loops[:fixed], loop), inputs, outputs, nest.body)


def _jumps(strides: Sequence[int], extents: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Return where an access along several loops is not the one with the stride of the last."""
    found = []
    for number in reversed(range(len(extents) - 1)):
        distance = strides[number] - extents[number + 1] * strides[number + 1]
        if distance:
            found.append((prod(extents[number + 1 :]), distance))
    return tuple(found)


def without_units(nest: LinearNest, fixed: int = 0) -> LinearNest:
    """Return `nest` without the loops of one iteration, the first `fixed` ones excepted."""
    for number in reversed(range(fixed, len(nest.loops))):
        if nest.loops[number].extent == 1:
            nest = _without(nest, number)
    return nest


def with_loops(nest: LinearNest, loops: tuple[Loop, ...]) -> LinearNest | None:
    """Return `nest` with loops of one iteration added, so that its loops are `loops`.

    None where it has other loops than these.
    """
    if nest.loops == loops:
        return nest
    sources: list[int | None] = []
    rest = iter(range(len(nest.loops)))
    for loop in loops:
        is_unit = loop.extent == 1 and not loop.is_reduction
        sources.append(None if is_unit else next(rest, None))
    found = [loop if i is None else nest.loops[i] for i, loop in zip(sources, loops, strict=True)]
    if tuple(found) != loops or next(rest, None) is not None:
        return None
    return _with_loops(
        nest, loops, lambda steps: tuple(0 if i is None else steps[i] for i in sources)
    )


def split(nest: LinearNest, number: int, inner: int) -> LinearNest:
    """Return an equal nest with loop `number` as two, the second of `inner` iterations.

    Args:
        nest: any nest.
        number: the loop.
        inner: a divisor of its extent.
    """
    loop = nest.loops[number]
    pair = (Loop(loop.extent // inner, loop.is_reduction), Loop(inner, loop.is_reduction))
    loops = (*nest.loops[:number], *pair, *nest.loops[number + 1 :])
    return _with_loops(
        nest,
        loops,
        lambda steps: (*steps[:number], steps[number] * inner, *steps[number:]),
    )


def part(nest: LinearNest, number: int, start: int, extent: int) -> LinearNest:
    """Return the part of `nest` that does `extent` iterations of loop `number` from `start` on."""
    loops = list(nest.loops)
    loops[number] = Loop(extent, loops[number].is_reduction)

    def moved(access: BufferOperand) -> BufferOperand:
        return replace(access, offset=access.offset + start * access.strides[number])

    inputs, outputs = tuple(map(moved, nest.inputs)), tuple(map(moved, nest.outputs))
    return replace(nest, loops=tuple(loops), inputs=inputs, outputs=outputs)


def reordered(nest: LinearNest, order: Sequence[int]) -> LinearNest:
    """Return an equal nest whose loop `i` is the loop `order[i]` of `nest`."""
    loops = tuple(nest.loops[number] for number in order)
    return _with_loops(nest, loops, lambda steps: tuple(steps[number] for number in order))


def _indices(body: ir.Block, loops: int) -> tuple[Strides, ...]:
    if not any(view.operation.name == "linalg.index" for view in body.operations):
        return ()
    return tuple(tuple(int(i == number) for i in range(loops)) for number in range(loops))


def _access(
    value: ir.Value, indexing_map: ir.AffineMap, strides: list[int], *, flat: bool
) -> BufferOperand:
    if not isinstance(value.type, ir.MemRefType):
        return BufferOperand(value, 0, tuple(strides))
    steps = sized_strides(value.type)
    first = sum(
        step * _constant_term(expression)
        for step, expression in zip(steps, indexing_map.results, strict=True)
    )
    return BufferOperand(flattened(value) if flat else value, first, tuple(strides))


def _constant_term(expression: ir.AffineExpr) -> int:
    if isinstance(expression, ir.AffineConstantExpr):
        return number_of(expression)
    if isinstance(expression, ir.AffineAddExpr):
        return _constant_term(expression.lhs) + _constant_term(expression.rhs)
    if isinstance(expression, ir.AffineMulExpr):  # such as -(4 - d0) + 4, of a view of a view
        return _constant_term(expression.lhs) * _constant_term(expression.rhs)
    return 0


def _walks_on(nest: LinearNest, outer: int, inner: int) -> bool:
    """Tell whether `outer` continues, in every operand, where `inner` ends."""
    if nest.loops[outer].is_reduction != nest.loops[inner].is_reduction:
        return False
    extent = nest.loops[inner].extent
    walks = [*(each.strides for each in nest.accesses), *nest.indices]
    return all(steps[outer] == extent * steps[inner] for steps in walks)


def _without(nest: LinearNest, loop: int) -> LinearNest:
    loops = (*nest.loops[:loop], *nest.loops[loop + 1 :])
    return _with_loops(nest, loops, lambda steps: (*steps[:loop], *steps[loop + 1 :]))


def _with_loops(
    nest: LinearNest, loops: tuple[Loop, ...], change: Callable[[Strides], Strides]
) -> LinearNest:
    """Return `nest` with other loops; `change` says how far one step of each moves."""
    return replace(
        nest,
        loops=loops,
        inputs=tuple(replace(each, strides=change(each.strides)) for each in nest.inputs),
        outputs=tuple(replace(each, strides=change(each.strides)) for each in nest.outputs),
        indices=tuple(change(steps) for steps in nest.indices),
    )
