# SPDX-License-Identifier: MIT OR Apache-2.0
"""Masks that keep key t for query s where t <= s + offset, from constants and loop indices."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.analysis.owners import constant_attribute
from xyntra.passes.recognize.attention.index_values import (
    Array,
    Diagonals,
    diagonal_values,
    index_values,
)
from xyntra.passes.recognize.attention.places import Place, through_cast, through_view

__all__ = ["Causal", "added_causal", "causal_of", "causal_select", "keeps_all"]

_LESS, _LESS_EQUAL, _GREATER, _GREATER_EQUAL = 2, 3, 4, 5  # signed predicates of arith.cmpi
_OPPOSITE = {
    _LESS: _GREATER_EQUAL,
    _LESS_EQUAL: _GREATER,
    _GREATER: _LESS_EQUAL,
    _GREATER_EQUAL: _LESS,
}
_LOW = {"f16": -6e4, "bf16": -1e9, "f32": -1e9, "f64": -1e9}
"""Added to scores, these leave a key no weight beside one that is not hidden."""
_SWAPPED = {_GREATER: _LESS, _GREATER_EQUAL: _LESS_EQUAL}


@dataclass(frozen=True)
class Causal:
    """Keeps `key` <= `query` + `offset`, all of one scale: positions that move with one loop."""

    query: Position
    key: Position
    offset: int

    @property
    def keeps_all(self) -> bool:
        """Whether the last key is seen by the first query, as by the only one behind a cache."""
        return self.key.last <= self.query.first + self.offset

    def offset_for(self, query: Position, key: Position) -> int | None:
        """The offset in terms of other positions, if these are the loops that are compared."""
        if self.query.terms != query.terms or self.key.terms != key.terms:
            return None
        return self.offset + self.query.constant - self.key.constant


def causal_of(keep: Place, inverted: bool) -> Causal | None:
    """Return what the boolean mask `keep` compares, or None if it is another kind of mask."""
    while (source := through_view(keep)) is not None:
        keep = source
    if keep.source.operation is None or keep.source.element != "i1":
        return None
    body = _Body.of(keep)
    compared = None if body is None else body.compared(body.last, inverted)
    if compared is not None or keep.source.value is None:
        return compared
    values = _values(keep.source.value)
    return None if values is None else _triangle(keep, values, lambda x: x.astype(bool) != inverted)


def added_causal(bias: Place) -> Causal | None:
    """What a bias hides that is zero for some keys, and for all later ones so low that they vanish.

    Every query must be left a key.
    """
    while (source := through_view(bias) or through_cast(bias)) is not None:
        bias = source
    lowest = _LOW.get(bias.source.element)
    if bias.source.value is None or lowest is None:
        return None
    values = _values(bias.source.value)
    if values is None:
        return None
    causal = _triangle(bias, values, lambda x: x == 0)
    elements = values.values if isinstance(values, Diagonals) else values
    hidden = elements != 0
    if causal is None or causal.offset < 0 or not hidden.any():
        return None
    return causal if elements.max(where=hidden, initial=float("-inf")) <= lowest else None


def keeps_all(keep: Place, inverted: bool) -> bool:
    """Tell whether constants and indices alone make a boolean mask that hides nothing."""
    while (source := through_view(keep)) is not None:
        keep = source
    values = _values(keep.source.value) if keep.source.value is not None else None
    if values is None:
        return False
    elements = values.values if isinstance(values, Diagonals) else values
    return bool((elements.astype(bool) != inverted).all())


def causal_select(place: Place) -> tuple[Place, Causal, float] | None:
    """Scores, mask and fill where one operation replaces scores by their positions."""
    body = _Body.of(place)
    if body is None or body.last.name != "arith.select":
        return None
    condition, yes, no = body.last.operands
    for scores, other, inverted in ((yes, no, False), (no, yes, True)):
        fill, source = _number(other), body.operand(scores)
        if fill is None or source is None or not fill < float("inf"):
            continue
        compared = None if isinstance(condition.owner, ir.Block) else condition.owner.operation
        causal = body.compared(compared, inverted) if compared else None
        return None if causal is None else (source, causal, fill)
    return None


@dataclass(frozen=True)
class _Body:
    """An elementwise linalg.generic that `ExpressionGraph` does not look into."""

    place: Place
    operation: ir.Operation

    @staticmethod
    def of(place: Place) -> _Body | None:
        operation = place.source.operation
        if operation is None or operation.name != "linalg.generic":
            return None
        if place.source.opcode != "linalg.generic" or len(operation.results) != 1:
            return None
        rank = len(place.positions)
        written = ir.AffineMapAttr(list(operation.attributes["indexing_maps"])[-1]).value
        is_identity = written == ir.AffineMap.get_identity(rank, operation.context)
        body = _Body(place, operation)
        is_computed = not isinstance(body.yielded.owner, ir.Block)
        return body if is_identity and is_computed else None

    @property
    def yielded(self) -> ir.Value:
        """Return what the body yields."""
        *_, ending = self.operation.regions[0].blocks[0].operations
        value: ir.Value = ending.operation.operands[0]
        return value

    @property
    def last(self) -> ir.Operation:
        """The operation that computes what the body yields."""
        operation: ir.Operation = self.yielded.owner.operation
        return operation

    def operand(self, value: ir.Value) -> Place | None:
        """The tensor that an argument of the body is an element of, read element by element."""
        if not isinstance(value.owner, ir.Block):
            return None
        number = list(self.operation.regions[0].blocks[0].arguments).index(value)
        map_ = ir.AffineMapAttr(list(self.operation.attributes["indexing_maps"])[number]).value
        rank = len(self.place.positions)
        if number + 1 == len(list(self.operation.operands)):
            return None
        if map_ != ir.AffineMap.get_identity(rank, self.operation.context):
            return None
        read = self.place.graph.read(self.operation.operands[number], tuple(range(rank)))
        return self.place.read(read)

    def compared(self, condition: ir.Operation, inverted: bool) -> Causal | None:
        """Return what `condition` compares, if it is two loop indices, or one and a number."""
        if condition.name == ("arith.ori" if inverted else "arith.andi"):
            return self._both(condition, inverted)
        if condition.name != "arith.cmpi":
            return None
        left, right = (self._index(value) for value in condition.operands)
        if left is None or right is None:
            return None
        predicate = condition.attributes["predicate"].value
        predicate = _OPPOSITE.get(predicate, 0) if inverted else predicate
        if predicate in _SWAPPED:
            left, right, predicate = right, left, _SWAPPED[predicate]
        if predicate not in _SWAPPED.values():
            return None
        return Causal(query=right, key=left, offset=-1 if predicate == _LESS else 0)

    def _both(self, condition: ir.Operation, inverted: bool) -> Causal | None:
        """Return the one of two comparisons that hides keys, or either where none does."""
        owners = [value.owner for value in condition.operands]
        if any(isinstance(owner, ir.Block) for owner in owners):
            return None
        first, second = (self.compared(owner.operation, inverted) for owner in owners)
        if first is None or second is None:
            return None
        if first.keeps_all:
            return second
        return first if second.keeps_all else None

    def _index(self, value: ir.Value) -> Position | None:
        """A loop index plus a constant, or a constant: the place of the only query is one."""
        known = _integer(value)
        if known is not None:
            return Position(constant=known)
        if isinstance(value.owner, ir.Block):
            return None
        owner = value.owner.operation
        if owner.name == "linalg.index":
            position: Position = self.place.positions[owner.attributes["dim"].value]
            return position
        if owner.name in ("arith.index_cast", "arith.index_castui"):
            return self._index(owner.operands[0])
        if owner.name not in ("arith.addi", "arith.subi"):
            return None
        first, second = owner.operands
        base, number = self._index(first), _integer(second)
        if owner.name == "arith.addi" and number is None:
            base, number = self._index(second), _integer(first)
        if base is None or number is None:
            return None
        return base + (number if owner.name == "arith.addi" else -number)


def _values(mask: ir.Value) -> Diagonals | Array | None:
    """Return the elements of a mask, by diagonals where that is enough, whatever its size."""
    by_diagonals = diagonal_values(mask)
    return index_values(mask) if by_diagonals is None else by_diagonals


def _triangle(
    place: Place, values: Diagonals | Array, kept: Callable[[Array], Array]
) -> Causal | None:
    """Compare what is kept of a mask with all that it might be, for each pair of dimensions."""
    if isinstance(values, Diagonals):
        return _diagonal_triangle(place, values, kept(values.values))
    keep = kept(values)
    for row, column in _pairs(place):
        rows, columns = keep.shape[row], keep.shape[column]
        plane = np.moveaxis(keep, (row, column), (0, 1)).reshape(rows, columns)
        offset = int(plane[0].sum()) - 1
        if (plane == np.tri(rows, columns, offset, dtype=bool)).all():
            return Causal(place.positions[row], place.positions[column], offset)
    return None


def _diagonal_triangle(place: Place, values: Diagonals, keep: Array) -> Causal | None:
    """Tell whether the first of the diagonals are kept, seen from either dimension."""
    row, column = values.row, values.column
    for query, key, plane in ((row, column, keep), (column, row, keep[::-1])):
        count = int(plane.sum())
        offset = count - place.source.shape[query]
        if plane[:count].all() and offset >= -1:
            return Causal(place.positions[query], place.positions[key], offset)
    return None


def _pairs(place: Place) -> Iterator[tuple[int, int]]:
    """Pairs of the dimensions of a mask that has two of more than one element."""
    large = [d for d, size in enumerate(place.source.shape) if size > 1]
    if len(large) == 2:
        yield large[0], large[1]
        yield large[1], large[0]


def _number(value: ir.Value) -> float | None:
    attribute = constant_attribute(value)
    return float(attribute.value) if isinstance(attribute, ir.FloatAttr) else None


def _integer(value: ir.Value) -> int | None:
    attribute = constant_attribute(value)
    return int(attribute.value) if isinstance(attribute, ir.IntegerAttr) else None
