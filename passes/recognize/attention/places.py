# SPDX-License-Identifier: MIT OR Apache-2.0
"""Expressions and the positions at which loops read them, followed up through views.

`ExpressionGraph` folds transposes and broadcasts into reads; reshapes and slices are expressions of
its own. Here they are folded too, by composing positions (see `xyntra.dialects.tensors.positions`).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.recognize.matching.expressions import UNIT, Expression, ExpressionGraph, Read

__all__ = [
    "Place",
    "Root",
    "are_whole",
    "linear",
    "operands",
    "root",
    "scaling",
    "tensor",
    "through_cast",
    "through_view",
    "unflatten",
]

_FLOATS = ("f16", "bf16", "f32", "f64")


@dataclass(frozen=True)
class Place:
    """`source`, read at `positions`: one for each dimension of its shape."""

    source: Expression
    positions: tuple[Position, ...]
    graph: ExpressionGraph = field(compare=False, repr=False)

    @property
    def loops(self) -> set[int]:
        """The loops that it moves with."""
        return set().union(*(position.loops for position in self.positions))

    def read(self, read: Read, reduced: Sequence[Position] = ()) -> Place:
        """What `source` reads by `read`; `reduced` are the positions of its reduction loops."""
        domain = (*self.positions, *reduced)
        if read.source.number is not None:
            return Place(read.source, (), self.graph)
        positions = tuple(Position() if d == UNIT else domain[d] for d in read.dims)
        return Place(read.source, positions, self.graph)


@dataclass(frozen=True)
class Root:
    """A tensor of the program, read at `positions` and multiplied by `scale`."""

    value: ir.Value
    positions: tuple[Position, ...]
    scale: float = 1.0


def operands(place: Place) -> list[Place]:
    """Return what an elementwise expression reads."""
    return [place.read(read) for read in place.source.operands]


def through_view(place: Place) -> Place | None:
    """The source of a reshape or slice; None for other expressions, and where positions divide."""
    operation = place.source.operation
    if operation is None or place.source.opcode not in ("reshape", "slice"):
        return None
    (read,) = place.source.operands
    if place.source.opcode == "slice":
        positions = _before_slice(place, operation)
    else:
        shape = ir.RankedTensorType(operation.operands[0].type).shape
        positions = unflatten(linear(place.positions, place.source.shape), shape)
    return None if positions is None else replace(place, positions=positions).read(read)


def through_cast(place: Place) -> Place | None:
    """The operand of a conversion between floats, or None."""
    if place.source.opcode != "cast":
        return None
    (operand,) = operands(place)
    is_float = {operand.source.element, place.source.element} <= set(_FLOATS)
    return operand if is_float else None


def tensor(place: Place) -> Place:
    """The tensor that is converted where `place` is a conversion inside of a body."""
    while place.source.value is None and (source := through_cast(place)) is not None:
        place = source
    return place


def linear(positions: Sequence[Position], shape: Sequence[int]) -> Position:
    """The number of the element at `positions`, in row-major order."""
    total = Position()
    for position, size in zip(positions, shape, strict=True):
        total = total * size + position
    return total


def unflatten(element: Position, shape: Sequence[int]) -> tuple[Position, ...] | None:
    """The positions of an element, given by its number, in a tensor of `shape`."""
    found: list[Position] = []
    for size in reversed(shape[1:]):
        parts = element.split(size)
        if parts is None:
            return None
        element, rest = parts
        found.append(rest)
    return (element, *reversed(found)) if len(shape) else ()


def _before_slice(place: Place, operation: ir.Operation) -> tuple[Position, ...] | None:
    offsets = list(operation.attributes["static_offsets"])
    strides = list(operation.attributes["static_strides"])
    if len(operation.operands) != 1 or len(offsets) != len(place.positions):
        return None
    return tuple(
        position * stride + offset
        for position, stride, offset in zip(place.positions, strides, offsets, strict=True)
    )


def root(
    place: Place,
    undivided: Sequence[tuple[int, int]],
    *,
    scaled: bool = False,
    widened: bool = False,
) -> Root | None:
    """Follow `place` up as far as each of the `undivided` loops (with extents) stays whole.

    Args:
        place: what an operand of a contraction is, or a mask.
        undivided: numbers and extents of loops that only constants may multiply.
        scaled: also pass multiplications and divisions by a constant, which go into `scale`.
        widened: also pass conversions of 16-bit floats to f32, which are exact.
    """
    scale, found = 1.0, None
    if place.source.number is not None:
        return None
    while are_whole(place.positions, undivided):
        if place.source.value is not None:
            found = Root(place.source.value, place.positions, scale)
        following = through_view(place)
        if following is None and (place.source.value is None or (widened and _widens(place))):
            following = through_cast(place)
        if following is None and scaled:
            step = scaling(place)
            if step is not None:
                following, factor = step
                scale *= factor
        if following is None:
            return found
        place = following
    return found


def _widens(place: Place) -> bool:
    """Tell whether `place` is a conversion of a 16-bit float to f32."""
    if place.source.opcode != "cast" or place.source.element != "f32":
        return False
    return operands(place)[0].source.element in ("f16", "bf16")


def scaling(place: Place) -> tuple[Place, float] | None:
    """The operand and factor where `place` is a product with, or quotient by, a constant."""
    if place.source.opcode not in ("mul", "div"):
        return None
    left, right = operands(place)
    if right.source.number is not None and left.source.number is None:
        number = float(right.source.number)
        if place.source.opcode == "mul":
            return left, number
        return (left, 1 / number) if number else None
    if left.source.number is not None and place.source.opcode == "mul":
        return right, float(left.source.number)
    return None


def are_whole(positions: Sequence[Position], undivided: Sequence[tuple[int, int]]) -> bool:
    """Tell whether each of the `undivided` loops, given with its extent, is multiplied at most."""
    extents = dict(undivided)
    return all(
        digit.loop not in extents or (digit.divisor == 1 and digit.extent == extents[digit.loop])
        for position in positions
        for digit, _ in position.terms
    )
