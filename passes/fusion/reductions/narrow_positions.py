# SPDX-License-Identifier: MIT OR Apache-2.0
"""Computes with numbers of iterations in 32 bits, and as floats where these are exact.

GPUs convert integers of 64 bits to floats at a quarter of the rate of others, and have no adder
for them.
"""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit

__all__ = ["narrow_positions"]

_I32 = (-(1 << 31), (1 << 31) - 1)
_EXACT = 1 << 24
"""Integers up to this are floats of 32 bits."""

Bounds = tuple[int, int]


def narrow_positions(op: ir.Operation) -> None:
    """Rewrite the body of an elementwise linalg.generic, whose loops are those of its result."""
    body = op.regions[0].blocks[0]
    narrow = _Narrow(list(ir.RankedTensorType(op.results[0].type).shape))
    for inner in [view.operation for view in body.operations]:
        with inner.location, ir.InsertionPoint(inner):
            narrow.take(inner)
    for inner in reversed([view.operation for view in body.operations]):
        if inner.results and not any(True for result in inner.results for _ in result.uses):
            inner.erase()


class _Narrow:
    """Values of a body that are bounded integers, and what they are in 32 bits."""

    def __init__(self, sizes: list[int]) -> None:
        self._sizes = sizes
        self._known: dict[ir.Value, tuple[Bounds, ir.Value]] = {}

    def take(self, op: ir.Operation) -> None:
        """Find out what the result of the next operation is, or replace it."""
        if op.name == "linalg.index":
            size = self._sizes[ir.IntegerAttr(op.attributes["dim"]).value]
            self._keep(op, (0, size - 1), lambda: _number(op))
            return
        known = [self._of(value) for value in op.operands]
        if not known or any(each is None for each in known):
            return
        bounds, values = zip(*[each for each in known if each is not None], strict=True)
        if op.name == "arith.index_cast" and not isinstance(op.results[0].type, ir.IndexType):
            self._keep(op, bounds[0], lambda: values[0])
        elif op.name in _RANGES:
            kind = values[0].type
            self._keep(op, _RANGES[op.name](*bounds), lambda: emit(op.name, [*values], kind))
        elif op.name == "arith.cmpi":
            predicate = op.attributes["predicate"]
            found = emit(op.name, [*values], op.results[0].type, predicate=predicate)
            op.results[0].replace_all_uses_with(found)
        elif op.name == "arith.sitofp":
            op.results[0].replace_all_uses_with(self._float(op.operands[0], op.results[0].type))

    def _keep(self, op: ir.Operation, bounds: Bounds, make: Callable[[], ir.Value]) -> None:
        if _I32[0] <= bounds[0] and bounds[1] <= _I32[1]:
            self._known[op.results[0]] = bounds, make()

    def _of(self, value: ir.Value) -> tuple[Bounds, ir.Value] | None:
        """Return the bounds of an integer, and the integer in 32 bits; None where not known."""
        if value in self._known or isinstance(value.owner, ir.Block):
            return self._known.get(value)
        owner = value.owner.operation
        if owner.name != "arith.constant" or not isinstance(value.type, ir.IntegerType):
            return None
        number = int(ir.IntegerAttr(owner.attributes["value"]).value)
        if value.type.width < 32 or not _I32[0] <= number <= _I32[1]:
            return None
        kind = ir.IntegerType.get_signless(32)
        constant = emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))
        return (number, number), constant

    def _float(self, value: ir.Value, kind: ir.Type) -> ir.Value:
        """Return a known integer as a float; distances of two that are exact, as theirs."""
        bounds, number = self._known.get(value) or self._of(value) or ((0, 0), value)
        owner = None if isinstance(value.owner, ir.Block) else value.owner.operation
        if isinstance(kind, ir.F32Type) and owner is not None and owner.name in _FLOATS:
            parts = [self._of(each) for each in owner.operands]
            exact = [part for part in parts if part is not None and _is_exact(part[0])]
            if len(exact) == 2 and _is_exact(bounds):
                sides = [emit("arith.sitofp", [part[1]], kind) for part in exact]
                return emit(_FLOATS[owner.name], sides, kind)
        return emit("arith.sitofp", [number], kind)


def _is_exact(bounds: Bounds) -> bool:
    return max(map(abs, bounds)) <= _EXACT


def _number(index: ir.Operation) -> ir.Value:
    """Return the number of an iteration in 32 bits, ahead of the operation that gives it."""
    again = emit("linalg.index", [], ir.IndexType.get(), dim=index.attributes["dim"])
    return emit("arith.index_cast", [again], ir.IntegerType.get_signless(32))


def _sum(a: Bounds, b: Bounds) -> Bounds:
    return a[0] + b[0], a[1] + b[1]


def _difference(a: Bounds, b: Bounds) -> Bounds:
    return a[0] - b[1], a[1] - b[0]


def _product(a: Bounds, b: Bounds) -> Bounds:
    ends = [x * y for x in a for y in b]
    return min(ends), max(ends)


_RANGES: dict[str, Callable[[Bounds, Bounds], Bounds]] = {
    "arith.addi": _sum,
    "arith.subi": _difference,
    "arith.muli": _product,
    "arith.maxsi": lambda a, b: (max(a[0], b[0]), max(a[1], b[1])),
    "arith.minsi": lambda a, b: (min(a[0], b[0]), min(a[1], b[1])),
}
_FLOATS = {"arith.addi": "arith.addf", "arith.subi": "arith.subf"}
