# SPDX-License-Identifier: MIT OR Apache-2.0
"""Bounds of integers and indices, from constants, loops and arithmetic on them.

Every range is that of the value as a signed number of its width; a boolean is 0 or -1.
"""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.mlir import ir
from xyntra.passes.safety.affine_ranges import Range
from xyntra.passes.safety.linalg_loops import extents_of

__all__ = ["ValueRanges", "type_range"]

_DEEPEST = 60
_MOST_CONSTANTS = 1 << 16
_BOOLEAN = (-1, 0)


def type_range(kind: ir.Type) -> Range:
    """Return the bounds of all values of an integer or index type, as signed numbers."""
    width = 64 if isinstance(kind, ir.IndexType) else ir.IntegerType(kind).width
    return -(1 << (width - 1)), (1 << (width - 1)) - 1


class ValueRanges:
    """Bounds of values of integer or index type; found once, so that IR must not change between."""

    def __init__(self) -> None:
        self._known: dict[ir.Value, Range] = {}
        self._extents: dict[ir.Operation, list[int]] = {}

    def of(self, value: ir.Value, depth: int = 0) -> Range:
        """Return bounds of `value`."""
        found = self._known.get(value)
        if found is None:
            widest = type_range(value.type)
            found = self._find(value, depth + 1) if depth < _DEEPEST else widest
            if found[0] < widest[0] or found[1] > widest[1]:
                found = widest  # it wraps around
            if depth < _DEEPEST:
                self._known[value] = found
        return found

    def _find(self, value: ir.Value, depth: int) -> Range:
        if isinstance(value.owner, ir.Block):
            return self._argument(value, depth)
        op = value.owner.operation
        rule = _RULES.get(op.name)
        if rule is not None:
            return rule(*(self.of(operand, depth) for operand in op.operands)) or type_range(
                value.type
            )
        special = _SPECIAL.get(op.name)
        return special(self, op, value, depth) if special else type_range(value.type)

    def _argument(self, value: ir.Value, depth: int) -> Range:
        op = value.owner.owner.operation
        if op.name == "scf.for" and value.arg_number == 0:
            low, high = self.of(op.operands[0], depth)[0], self.of(op.operands[1], depth)[1]
            step = self.of(op.operands[2], depth)[1]
            if high - 1 + step <= type_range(value.type)[1]:  # the counter does not wrap around
                return low, max(low, high - 1)
        if op.name == "linalg.generic" and value.arg_number < len(op.operands) - len(op.results):
            return _range_of_constant(op.operands[value.arg_number]) or type_range(value.type)
        return type_range(value.type)

    def _index(self, op: ir.Operation, value: ir.Value, depth: int) -> Range:
        around = op.parent
        while around is not None and not around.name.startswith("linalg."):
            around = around.operation.parent
        if around is None:
            return type_range(value.type)
        if around.operation not in self._extents:
            self._extents[around.operation] = extents_of(around.operation)
        extents, loop = self._extents[around.operation], ir.IntegerAttr(op.attributes["dim"]).value
        return (0, extents[loop] - 1) if loop < len(extents) else type_range(value.type)

    def _constant(self, op: ir.Operation, value: ir.Value, depth: int) -> Range:
        number = op.attributes["value"].value
        return _BOOLEAN if isinstance(number, bool) else (number, number)

    def _select(self, op: ir.Operation, value: ir.Value, depth: int) -> Range:
        condition, *choices = op.operands
        found = [self.of(choice, depth) for choice in choices]
        limited = [
            self._under(condition, choice, range_, holds)
            for choice, range_, holds in zip(choices, found, (True, False), strict=True)
        ]
        return min(low for low, _ in limited), max(high for _, high in limited)

    def _under(
        self, condition: ir.Value, value: ir.Value, known: Range, holds: bool, levels: int = 3
    ) -> Range:
        """Narrow the range of `value` by a condition that holds, or does not."""
        if isinstance(condition.owner, ir.Block):
            return known
        op = condition.owner.operation
        if op.name == "arith.andi" and holds and levels:
            for part in op.operands:
                known = self._under(part, value, known, holds, levels - 1)
        if op.name != "arith.cmpi" or value not in list(op.operands):
            return known
        place = list(op.operands).index(value)
        other = self.of(op.operands[1 - place], _DEEPEST - 2)
        predicate = ir.IntegerAttr(op.attributes["predicate"]).value
        narrowed = _narrow(_SWAPPED[predicate] if place else predicate, holds, known, other)
        return narrowed if narrowed[0] <= narrowed[1] else known

    def _joined(self, op: ir.Operation, value: ir.Value, depth: int) -> Range:
        """The result of a scf.if: what either branch yields."""
        number = list(op.results).index(value)
        found = []
        for region in op.regions:
            operations = list(region.blocks[0].operations)
            found.append(self.of(operations[-1].operation.operands[number], depth))
        return min(low for low, _ in found), max(high for _, high in found)


def _range_of_constant(tensor: ir.Value) -> Range | None:
    """Return the bounds of a constant tensor of integers; None for others."""
    if isinstance(tensor.owner, ir.Block) or tensor.owner.operation.name != "arith.constant":
        return None
    attribute = tensor.owner.operation.attributes["value"]
    if not isinstance(attribute, ir.DenseIntElementsAttr) or len(attribute) > _MOST_CONSTANTS:
        return None
    if str(ir.RankedTensorType(tensor.type).element_type) == "i1":
        return _BOOLEAN
    if attribute.is_splat:
        number = attribute.get_splat_value().value
        return number, number
    return min(attribute, default=0), max(attribute, default=0)


_EQ, _NE, _SLT, _SLE, _SGT, _SGE, _ULT, _ULE, _UGT, _UGE = range(10)
_SWAPPED = {_EQ: _EQ, _NE: _NE, _SLT: _SGT, _SLE: _SGE, _SGT: _SLT, _SGE: _SLE} | {
    _ULT: _UGT, _ULE: _UGE, _UGT: _ULT, _UGE: _ULE,
}  # fmt: skip
_OPPOSITE = {_EQ: _NE, _NE: _EQ, _SLT: _SGE, _SLE: _SGT, _SGT: _SLE, _SGE: _SLT} | {
    _ULT: _UGE, _ULE: _UGT, _UGT: _ULE, _UGE: _ULT,
}  # fmt: skip


def _narrow(predicate: int, holds: bool, known: Range, other: Range) -> Range:
    """Bounds of a value in `known` that compares so with one in `other`."""
    low, high = known
    predicate = predicate if holds else _OPPOSITE[predicate]
    if predicate in (_ULT, _ULE) and other[0] >= 0:
        return max(low, 0), min(high, other[1] - (predicate == _ULT))
    if predicate in (_SLT, _SLE):
        return low, min(high, other[1] - (predicate == _SLT))
    if predicate in (_SGT, _SGE):
        return max(low, other[0] + (predicate == _SGT)), high
    return (max(low, other[0]), min(high, other[1])) if predicate == _EQ else known


def _product(a: Range, b: Range) -> Range:
    values = [x * y for x in a for y in b]
    return min(values), max(values)


def _unsigned_minimum(a: Range, b: Range) -> Range | None:
    tops = [high for low, high in (a, b) if low >= 0]
    return (0, min(tops)) if tops else None


def _unsigned_maximum(a: Range, b: Range) -> Range | None:
    return (max(a[0], b[0]), max(a[1], b[1])) if min(a[0], b[0]) >= 0 else None


def _and(a: Range, b: Range) -> Range | None:
    return _unsigned_minimum(a, b)


def _signed_remainder(a: Range, b: Range) -> Range | None:
    most = max(abs(b[0]), abs(b[1])) - 1
    if b[0] <= 0 <= b[1]:
        return None
    return (0 if a[0] >= 0 else -most), (0 if a[1] <= 0 else most)


def _unsigned_remainder(a: Range, b: Range) -> Range | None:
    return (0, b[1] - 1) if b[0] > 0 else None


def _signed_quotient(a: Range, b: Range) -> Range | None:
    if b[0] < 1:
        return None
    values = [x // y if x >= 0 else -(-x // y) for x in a for y in b]
    return min(values), max(values)


def _unsigned_quotient(a: Range, b: Range) -> Range | None:
    return (a[0] // b[1], a[1] // b[0]) if a[0] >= 0 and b[0] > 0 else None


def _floor_quotient(a: Range, b: Range) -> Range | None:
    if b[0] < 1:
        return None
    values = [x // y for x in a for y in b]
    return min(values), max(values)


def _arithmetic_shift(a: Range, b: Range) -> Range | None:
    if b[0] < 0 or b[1] > 63:
        return None
    values = [x >> y for x in a for y in b]
    return min(values), max(values)


def _logical_shift(a: Range, b: Range) -> Range | None:
    return _arithmetic_shift(a, b) if a[0] >= 0 else None


_RULES: dict[str, Callable[..., Range | None]] = {
    "arith.addi": lambda a, b: (a[0] + b[0], a[1] + b[1]),
    "arith.subi": lambda a, b: (a[0] - b[1], a[1] - b[0]),
    "arith.muli": _product,
    "arith.minsi": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
    "arith.maxsi": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "arith.minui": _unsigned_minimum,
    "arith.maxui": _unsigned_maximum,
    "arith.andi": _and,
    "arith.remsi": _signed_remainder,
    "arith.remui": _unsigned_remainder,
    "arith.divsi": _signed_quotient,
    "arith.divui": _unsigned_quotient,
    "arith.floordivsi": _floor_quotient,
    "arith.shrsi": _arithmetic_shift,
    "arith.shrui": _logical_shift,
    "arith.index_cast": lambda a: a,
    "arith.extsi": lambda a: a,
    "arith.trunci": lambda a: a,
    "arith.extui": lambda a: a if a[0] >= 0 else None,
    "arith.index_castui": lambda a: a if a[0] >= 0 else None,
}
_SPECIAL: dict[str, Callable[[ValueRanges, ir.Operation, ir.Value, int], Range]] = {
    "linalg.index": ValueRanges._index,
    "arith.constant": ValueRanges._constant,
    "arith.select": ValueRanges._select,
    "scf.if": ValueRanges._joined,
}
