# SPDX-License-Identifier: MIT OR Apache-2.0
"""Collapses adjacent reduction loops of a linalg.generic on buffers into one."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.gpu.stages.long_reductions import has_plain_maps, loop_of, view_of
from xyntra.passes.lower.loops.access_strides import loop_extents

_NO_LOOP = -1  # of a dimension of which one element is read


@dataclass(frozen=True)
class _Operand:
    """Sizes and strides of a buffer, and the loop that walks through each dimension."""

    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    loops: tuple[int, ...]

    @classmethod
    def of(cls, value: ir.Value, indexing: ir.AffineMap) -> _Operand | None:
        """Return what is known of an operand; None for a scalar."""
        if not isinstance(value.type, ir.MemRefType):
            return None
        kind = ir.MemRefType(value.type)
        strides, _ = kind.get_strides_and_offset()
        loops = [_NO_LOOP if (loop := loop_of(each)) is None else loop for each in indexing.results]
        return cls(tuple(kind.shape), tuple(strides), tuple(loops))

    def joined(self, outer: int, inner: int) -> _Operand | None:
        """Return the same with two loops as one, the inner one; None where they are apart."""
        if outer not in self.loops and inner not in self.loops:
            return self
        places = [place for place, loop in enumerate(self.loops) if loop == outer]
        if len(places) != 1 or self.loops.count(inner) != 1:
            return None
        place = places[0]
        if self.loops[place + 1 : place + 2] != (inner,):
            return None
        if self.strides[place] != self.sizes[place + 1] * self.strides[place + 1]:
            return None
        size = self.sizes[place] * self.sizes[place + 1]
        return _Operand(
            (*self.sizes[:place], size, *self.sizes[place + 2 :]),
            (*self.strides[:place], *self.strides[place + 1 :]),
            (*self.loops[:place], *self.loops[place + 1 :]),
        )


def with_joined_reductions(generic: ir.Operation) -> ir.Operation:
    """Return `generic`, or what takes its place with fewer loops over the same elements.

    What is replaced is left to the caller: it has no effect any more once it is erased.
    """
    if not has_plain_maps(generic) or _has_indices(generic):
        return generic
    maps = [ir.AffineMapAttr(each).value for each in generic.attributes["indexing_maps"]]
    operands = [_Operand.of(*each) for each in zip(generic.operands, maps, strict=True)]
    known = [each for each in operands if each is not None]
    gone: list[int] = []
    for outer, inner in _pairs(generic):
        joined = [each.joined(outer, inner) for each in known]
        if all(each is not None for each in joined):
            known = [each for each in joined if each is not None]
            gone.append(outer)
    if not gone:
        return generic
    return _rebuilt(generic, known, gone)


def _has_indices(generic: ir.Operation) -> bool:
    return any(view.name == "linalg.index" for view in generic.regions[0].blocks[0].operations)


def _pairs(generic: ir.Operation) -> Iterator[tuple[int, int]]:
    """Yield neighbours among the loops that reduce, the innermost ones first."""
    kinds = ["reduction" in str(kind) for kind in generic.attributes["iterator_types"]]
    numbers = [number for number, reduces in enumerate(kinds) if reduces]
    inner = numbers[-1] if numbers else 0
    for outer in reversed(numbers[:-1]):
        yield outer, inner


def _rebuilt(generic: ir.Operation, known: list[_Operand], gone: list[int]) -> ir.Operation:
    count = len(loop_extents(generic))
    left = [number for number in range(count) if number not in gone]
    copy = generic.clone(ip=ir.InsertionPoint(generic)).operation
    waiting = iter(known)
    maps = []
    with generic.location, ir.InsertionPoint(copy):
        for number, value in enumerate(generic.operands):
            found: list[int] = []
            if isinstance(value.type, ir.MemRefType):
                operand = next(waiting)
                _, offset = ir.MemRefType(value.type).get_strides_and_offset()
                found = list(operand.loops)
                if operand.sizes != tuple(ir.MemRefType(value.type).shape):
                    sizes, strides = list(operand.sizes), list(operand.strides)
                    copy.operands[number] = view_of(value, offset, sizes, strides)
            expressions = [_expression(loop, left) for loop in found]
            maps.append(ir.AffineMapAttr.get(ir.AffineMap.get(len(left), 0, expressions)))
    kinds = list(generic.attributes["iterator_types"])
    copy.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    copy.attributes["iterator_types"] = ir.ArrayAttr.get([kinds[number] for number in left])
    return copy


def _expression(loop: int, left: list[int]) -> ir.AffineExpr:
    if loop == _NO_LOOP:
        return ir.AffineConstantExpr.get(0)
    return ir.AffineDimExpr.get(left.index(loop))
