# SPDX-License-Identifier: MIT OR Apache-2.0
"""`bound-indices`: keeps computed indices inside of their tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

from xyntra.dialects import KernelFacts
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.registry import register_pass
from xyntra.passes.safety.value_ranges import ValueRanges
from xyntra.passes.safety.zeros import zero_of

__all__ = ["BoundIndices"]

_DYNAMIC = -(1 << 63)
_FIRST_INDEX = {"tensor.extract": 1, "tensor.insert": 2}
_FIRST_OFFSET = {"tensor.extract_slice": 1, "tensor.insert_slice": 2}


class _Guard(NamedTuple):
    """An operand that must be at least 0 and at most `last`, where that is not known."""

    op: ir.Operation
    operand: int
    last: int
    below: bool
    above: bool


@register_pass
@dataclass(frozen=True)
class BoundIndices:
    """Clamp computed indices to their tensors, where they are not known to be in bounds.

    An index below 0 becomes 0, and one beyond the end the last; so do offsets of slices. Reads of
    tensors without elements give 0, and writes to them are dropped. What is known comes from
    constants, the extents of loops, arithmetic, comparisons and selects: indices that are clamped
    or checked already get no second guard.
    """

    name: ClassVar[str] = "bound-indices"

    def run(self, module: ir.Operation) -> None:
        """Guard every computed index in `module`."""
        ranges = ValueRanges()
        guards: list[_Guard] = []
        vacant: list[ir.Operation] = []
        for op in nested_operations(module):
            if op.name in _FIRST_INDEX and 0 in _tensor_of(op).shape:
                vacant.append(op)
            else:
                guards += [guard for guard in _accesses(op, ranges) if guard.below or guard.above]
        for guard in guards:
            _clamp(guard)
            _reclassify(guard.op)
        for op in reversed(vacant):
            _replace(op)


def _tensor_of(op: ir.Operation) -> ir.RankedTensorType:
    return ir.RankedTensorType(op.operands[1 if "insert" in op.name else 0].type)


def _accesses(op: ir.Operation, ranges: ValueRanges) -> Iterator[_Guard]:
    if op.name in _FIRST_INDEX:
        first = _FIRST_INDEX[op.name]
        lasts = [(number, size - 1) for number, size in enumerate(_tensor_of(op).shape, first)]
    elif op.name in _FIRST_OFFSET:
        lasts = list(enumerate(_last_offsets(op), _FIRST_OFFSET[op.name]))
    else:
        return
    for number, last in lasts:
        low, high = ranges.of(op.operands[number])
        yield _Guard(op, number, last, low < 0, high > last)


def _last_offsets(op: ir.Operation) -> list[int]:
    """Return the largest value of each computed offset of a slice."""
    offsets, sizes, strides = (
        list(ir.DenseI64ArrayAttr(op.attributes[f"static_{name}"]))
        for name in ("offsets", "sizes", "strides")
    )
    spans = zip(offsets, sizes, strides, _tensor_of(op).shape, strict=True)
    return [
        extent - (max(size - 1, 0) * stride + 1 if size else 0)
        for offset, size, stride, extent in spans
        if offset == _DYNAMIC
    ]


def _clamp(guard: _Guard) -> None:
    op = guard.op
    with op.context, op.location, ir.InsertionPoint(op):
        value = op.operands[guard.operand]
        if guard.above:
            value = emit("arith.minsi", [value, _index(guard.last)], value.type)
        if guard.below:
            value = emit("arith.maxsi", [value, _index(0)], value.type)
    op.operands[guard.operand] = value


def _reclassify(op: ir.Operation) -> None:
    """Let a kernel that only moves data compute: its indices."""
    around = op.parent
    while around is not None and around.name not in ("xyntra.fused", "func.func"):
        around = around.operation.parent
    if around is None:
        return
    kernel = around.operation
    if kernel.name == "xyntra.fused" and kernel.attributes["kind"].value == "data":
        kernel.attributes["kind"] = ir.StringAttr.get("elementwise", op.context)
    elif kernel.name == "func.func" and KernelFacts.of(kernel) == KernelFacts("data"):
        with op.context, op.location:
            KernelFacts("elementwise").mark(kernel)


def _index(number: int) -> ir.Value:
    kind = ir.IndexType.get()
    return emit("arith.constant", [], kind, value=ir.IntegerAttr.get(kind, number))


def _replace(op: ir.Operation) -> None:
    """Take away a read or write of a tensor without elements."""
    if op.name == "tensor.insert":
        value = op.operands[1]
    else:
        kind = op.results[0].type
        number = zero_of(kind)
        with op.context, op.location, ir.InsertionPoint(op):
            value = emit("arith.constant", [], kind, value=number)
    op.results[0].replace_all_uses_with(value)
    op.erase()
