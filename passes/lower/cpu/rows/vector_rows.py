# SPDX-License-Identifier: MIT OR Apache-2.0
"""Groups loop nests into vectorised passes over rows, as few of them as can be.

A row is what one iteration of the outer loops touches. Each nest has one loop left inside, along
which it reads and writes memory in sequence; or none, and then computes one value for the row.
Nests that walk through a row one after the other share a pass where what one of them writes is
read at the place where it has just been written: it then stays in a register.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import terminator
from xyntra.passes.analysis.sizes.size import Size, hint_of, most_of
from xyntra.passes.lower.loops.linear_nest import BufferOperand, LinearNest
from xyntra.passes.lower.loops.memrefs import root
from xyntra.passes.lower.loops.vector_body import is_vectorizable

_MIN_ROW = 8  # elements
_MOST_STREAMS = 12  # of a pass
_ELEMENTS = frozenset({"f16", "f32", "f64", "i8", "i16", "i32", "i64"})
_COMBINERS = frozenset(
    f"arith.{name}"
    for name in "addf mulf maximumf minimumf maxnumf minnumf addi muli andi ori xori "
    "maxsi maxui minsi minui".split()
)

Key = tuple[ir.Value, int, tuple[int, ...]]
"""The memory, the first element, and the steps of an access."""


@dataclass
class RowPass:
    """One walk through a row.

    Attributes:
        length: elements of the row; 0 where there is no walk.
        scalars: nests that compute values of the row before it.
        nests: nests that share it.
    """

    length: int
    scalars: list[LinearNest] = field(default_factory=list)
    nests: list[LinearNest] = field(default_factory=list)

    @property
    def everything(self) -> list[LinearNest]:
        """All nests, in an order in which they can run."""
        return [*self.scalars, *self.nests]


def row_passes(nests: Sequence[LinearNest], count: int) -> list[RowPass] | None:
    """Return the passes that do the work of `nests`, or None where vectors do not fit.

    Args:
        nests: nests whose first `count` loops are the outer ones.
        count: the number of these.
    """
    if not all(_is_suitable(nest, count) for nest in nests):
        return None
    passes = [RowPass(0)]
    for nest in nests:
        length = nest.loops[count].extent if len(nest.loops) > count else 0
        last = passes[-1]
        is_free = not _conflict(last.nests, nest)
        if not length and is_free:
            last.scalars.append(nest)
        elif length and is_free and last.length in (0, length) and _streams(last, nest):
            last.length = length
            last.nests.append(nest)
        else:
            passes.append(RowPass(length))
            (passes[-1].nests if length else passes[-1].scalars).append(nest)
    return passes


def key(access: BufferOperand) -> Key:
    """Return what tells equal accesses, with whichever loops they do not move."""
    steps = access.strides
    while steps and steps[-1] == 0:
        steps = steps[:-1]
    return root(access.value), access.start, steps


def combiner(nest: LinearNest, output: int) -> ir.Operation | None:
    """Return the operation of the body that adds one more element to a reduction's result."""
    arguments = list(nest.body.arguments)[len(nest.inputs) :]
    uses = list(arguments[output].uses)
    if len(uses) != 1:
        return None
    op = uses[0].owner.operation
    is_last = op.name in _COMBINERS and op.result == terminator(nest.body).operands[output]
    return op if is_last and op.operands[0] != op.operands[1] else None


def _is_suitable(nest: LinearNest, count: int) -> bool:
    if len(nest.loops) > count + 1 or nest.indices or not is_vectorizable(nest.body):
        return False
    if any(str(each.element_type) not in _ELEMENTS for each in nest.accesses if not each.is_scalar):
        return False
    if len(nest.loops) == count:
        return True
    loop = nest.loops[count]
    if _usual_length(loop.extent) < _MIN_ROW or any(
        each.strides[count] not in (0, 1) for each in nest.accesses
    ):
        return False
    if not loop.is_reduction:
        return all(each.strides[count] == 1 for each in nest.outputs)
    return all(
        each.strides[count] == 0 and combiner(nest, number) is not None
        for number, each in enumerate(nest.outputs)
    )


def _usual_length(extent: int) -> int:
    """Return a usual length of rows; what a division leaves at usual sizes says nothing."""
    is_rest = isinstance(extent, Size) and extent.expression.is_remainder
    length: int = most_of(extent) if is_rest else hint_of(extent)
    return length


def _memory(accesses: Sequence[BufferOperand]) -> Iterator[BufferOperand]:
    return (each for each in accesses if not each.is_scalar)


def _streams(row_pass: RowPass, nest: LinearNest) -> bool:
    """Tell whether `nest` adds no more streams to a pass than a core can follow."""
    nests = [*row_pass.nests, nest]
    found = {key(each) for one in nests for each in _memory(one.accesses) if each.strides[-1]}
    return len(found) <= _MOST_STREAMS


def _conflict(earlier: Sequence[LinearNest], nest: LinearNest) -> bool:
    """Tell whether `nest` has to wait until `earlier` have finished the row."""
    return any(_clash(first, nest) for first in earlier)


def _clash(first: LinearNest, second: LinearNest) -> bool:
    for one, other in ((first, second), (second, first)):
        for written in one.outputs:
            for each in _memory(other.accesses):
                if root(written.value) != root(each.value):
                    continue
                if key(written) != key(each) or len(one.loops) != len(other.loops):
                    return True
                if written.strides[-1:] != (1,):
                    return True
    return False
