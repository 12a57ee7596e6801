# SPDX-License-Identifier: MIT OR Apache-2.0
"""Caches shapes, loops, bodies and other facts of the IR that the checker asks for repeatedly."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.dtypes import ITEM_BYTES
from xyntra.dialects.mlir import ir
from xyntra.dialects.purity import impurity
from xyntra.passes.fusion.legality.alignment import CONSTANT, OTHER, Shape

__all__ = ["BodyFacts", "Facts", "LoopFacts", "TensorFacts"]


@dataclass(frozen=True)
class TensorFacts:
    """The static shape of a tensor and the bytes that it takes."""

    shape: Shape
    nbytes: int


@dataclass(frozen=True)
class LoopFacts:
    """The loops of a structured operation.

    Attributes:
        reduces: whether there is a reduction among them.
        maps: for every operand, the loop that indexes each dimension.
        are_plain: whether no position is computed from several loops.
    """

    reduces: bool
    maps: tuple[tuple[int, ...], ...]
    are_plain: bool


class BodyFacts:
    """Flags of what scalar operations of a body do; none where they only move."""

    MULTIPLIES = 1
    COMPUTES = 2
    GATHERS = 4
    NESTS = 8
    INDEXES = 16
    IMPURE = 32
    UNUSUAL = GATHERS | NESTS | IMPURE


_MOVES = frozenset(
    {
        "arith.bitcast",
        "arith.constant",
        "arith.extf",
        "arith.extsi",
        "arith.extui",
        "arith.index_cast",
        "arith.index_castui",
        "arith.truncf",
        "arith.trunci",
        "linalg.yield",
        "tensor.yield",
    }
)
_PRODUCTS = frozenset({"arith.mulf", "arith.muli", "complex.mul", "arith.andi"})
_NESTING = ("scf.", "affine.", "linalg.", "tensor.")


class Facts:
    """Answers about types, maps and names, kept for the operations that follow."""

    def __init__(self) -> None:
        self._tensors: dict[ir.Type, TensorFacts | None] = {}
        self._loops: dict[tuple[ir.Attribute, ir.Attribute], LoopFacts] = {}
        self._bodies: dict[str, int] = {}

    def tensor(self, type_: ir.Type) -> TensorFacts | None:
        """Shape and size, or None for what is no tensor of static shape that a buffer can hold."""
        try:
            return self._tensors[type_]
        except KeyError:
            found = self._tensors[type_] = _tensor(type_)
            return found

    def loops(self, op: ir.Operation) -> LoopFacts:
        """The loops of a `linalg.generic`."""
        attributes = op.attributes
        key = (attributes["indexing_maps"], attributes["iterator_types"])
        try:
            return self._loops[key]
        except KeyError:
            reduces = any("reduction" in str(kind) for kind in key[1])
            maps = tuple(_loops_of(entry.value) for entry in key[0])
            are_plain = not any(OTHER in map_ for map_ in maps)
            return self._loops.setdefault(key, LoopFacts(reduces, maps, are_plain))

    def body(self, op: ir.Operation, name: str) -> int:
        """Return what a scalar operation does, as bits of `BodyFacts`."""
        found = self._bodies.get(name)
        if found is None:
            found = self._bodies[name] = _body(name)
            if not found & BodyFacts.NESTS and impurity(op) is not None:
                found = self._bodies[name] = found | BodyFacts.IMPURE
        if found & BodyFacts.NESTS and impurity(op) is not None:
            return found | BodyFacts.IMPURE
        return found


def _tensor(type_: ir.Type) -> TensorFacts | None:
    if not isinstance(type_, ir.RankedTensorType):
        return None
    tensor = ir.RankedTensorType(type_)
    item = ITEM_BYTES.get(str(tensor.element_type))
    if item is None or not tensor.has_static_shape:
        return None
    shape = tuple(tensor.shape)
    return TensorFacts(shape, prod(shape) * item)


def _loops_of(map_: ir.AffineMap) -> tuple[int, ...]:
    return tuple(map(_loop_of, map_.results))


def _loop_of(expression: ir.AffineExpr) -> int:
    if isinstance(expression, ir.AffineDimExpr):
        return int(expression.position)
    return CONSTANT if isinstance(expression, ir.AffineConstantExpr) else OTHER


def _body(name: str) -> int:
    if name in _MOVES:
        return 0
    if name == "linalg.index":
        return BodyFacts.INDEXES
    if name == "tensor.extract":
        return BodyFacts.GATHERS
    if name.startswith(_NESTING):
        return BodyFacts.NESTS | BodyFacts.COMPUTES
    return BodyFacts.COMPUTES | BodyFacts.MULTIPLIES if name in _PRODUCTS else BodyFacts.COMPUTES
