# SPDX-License-Identifier: MIT OR Apache-2.0
"""The iteration spaces of linalg.generic, renumbered so that the dimensions of the result lead."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from xyntra.dialects.mlir import ir

__all__ = ["UNIT", "Dims", "Layouts", "OperandLayout"]

UNIT = -1
"""Stands for the position in a dimension of size 1."""

Dims = tuple[int, ...]
"""For each dimension of a tensor the dimension of the iteration space that runs along it."""


@dataclass(frozen=True, slots=True)
class OperandLayout:
    """The dimensions at which a `linalg.generic` reads its operands.

    Attributes:
        dims: for each operand, destinations included, where it is read.
        domain: sizes of the iteration space: the result's dimensions, then those reduced.
        reduced: how many dimensions are reduced.
    """

    dims: tuple[Dims, ...]
    domain: tuple[int, ...]
    reduced: int


@dataclass(frozen=True, slots=True)
class _Structure:
    """A layout without sizes.

    `sized` names the operand and dimension that tell each size; `fixed` says whether an operand
    is read at a constant position.
    """

    dims: tuple[Dims, ...]
    sized: tuple[tuple[int, int], ...]
    reduced: int
    fixed: bool


@dataclass
class Layouts:
    """Analyses indexing maps once for each combination that occurs."""

    _known: dict[tuple[ir.Attribute, ir.Attribute, int], _Structure | None] = field(
        default_factory=dict
    )

    def of(
        self, operation: ir.Operation, shapes: Sequence[tuple[int, ...]], results: int
    ) -> OperandLayout | None:
        """Return the layout of a `linalg.generic` with operands of `shapes`.

        None where a size is dynamic, where an operand is read other than along whole dimensions,
        where results differ in their maps, or where a loop is neither parallel nor a reduction.
        """
        attributes = operation.attributes
        maps, kinds = attributes["indexing_maps"], attributes["iterator_types"]
        key = (maps, kinds, results)
        if key not in self._known:
            self._known[key] = _structure(maps, kinds, results)
        structure = self._known[key]
        if structure is None:
            return None
        if structure.fixed and not _reads_whole_dimensions(structure.dims, shapes):
            return None
        domain = tuple([shapes[operand][position] for operand, position in structure.sized])
        if domain and min(domain) < 0:
            return None
        return OperandLayout(structure.dims, domain, structure.reduced)


def _reads_whole_dimensions(dims: tuple[Dims, ...], shapes: Sequence[tuple[int, ...]]) -> bool:
    return all(
        all(d != UNIT or n == 1 for d, n in zip(at, shape, strict=True))
        for at, shape in zip(dims, shapes, strict=True)
    )


def _structure(maps: ir.Attribute, kinds: ir.Attribute, results: int) -> _Structure | None:
    parsed = [_positions(attribute.value) for attribute in maps]
    loops = [_is_reduction(kind) for kind in kinds]
    written = parsed[-1]
    if not results or None in parsed or None in loops or written is None:
        return None
    if any(each != written for each in parsed[-results:]) or UNIT in written:
        return None
    order = [*written, *(d for d, reduced in enumerate(loops) if reduced)]
    if sorted(order) != list(range(len(loops))):
        return None
    place = {old: new for new, old in enumerate(order)} | {UNIT: UNIT}
    dims = tuple(tuple(place[d] for d in at or ()) for at in parsed)
    sized = [_locate(d, dims) for d in range(len(order))]
    if None in sized:
        return None
    located = tuple(found for found in sized if found)
    fixed = any(UNIT in at for at in dims)
    return _Structure(dims, located, sum(map(bool, loops)), fixed)


def _locate(dimension: int, dims: tuple[Dims, ...]) -> tuple[int, int] | None:
    for operand, at in enumerate(dims):
        if dimension in at:
            return operand, at.index(dimension)
    return None


def _is_reduction(kind: ir.Attribute) -> bool | None:
    text = str(kind)
    return True if "reduction" in text else False if "parallel" in text else None


def _positions(map_: ir.AffineMap) -> Dims | None:
    """The dimension that each result of the map is, `UNIT` for 0; None for anything else."""
    found: list[int] = []
    for expression in map_.results:
        if isinstance(expression, ir.AffineDimExpr):
            found.append(expression.position)
        elif isinstance(expression, ir.AffineConstantExpr) and expression.value == 0:
            found.append(UNIT)
        else:
            return None
    named = [d for d in found if d != UNIT]
    return tuple(found) if len(set(named)) == len(named) else None
