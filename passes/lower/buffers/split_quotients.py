# SPDX-License-Identifier: MIT OR Apache-2.0
"""`split-quotients`: splits loops whose counter is divided, so that accesses become affine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import prod
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.lower.loops.access_strides import loop_extents
from xyntra.passes.lower.loops.memrefs import has_static_layout, is_contiguous
from xyntra.passes.lower.tensor.row_major import row_major_steps
from xyntra.passes.registry import register_pass

__all__ = ["SplitQuotients", "digits_of", "divides_contiguous", "split_loops"]

_IN_VECTORS = (2, 4)  # copies that vectors hold side by side
_LONG = 8  # copies that a loop writes


@register_pass
@dataclass(frozen=True)
class SplitQuotients:
    """Give loops of linalg.generic on memrefs whose number is divided a loop for every digit.

    Repeating each of `n` elements `k` times reads at `d floordiv k`. With loops of `n` and of `k`
    iterations in the place of `d`, and views of operands that have the same digits, every operand
    is read and written by loops alone. Several divisors of a loop have to divide each other. A loop
    along which results are contiguous is left alone where the innermost loop would be a short one
    that fills no vector.
    """

    name: ClassVar[str] = "split-quotients"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every linalg.generic below `module` that divides the number of a loop."""
        for op in operations_named(module, "linalg.generic"):
            digits = digits_of(op)
            if digits is not None and not _has_short_end(op, digits):
                split_loops(op, digits)


Digits = list[list[int]]
"""For every loop the extents of those that take its place, outermost first."""


def split_loops(op: ir.Operation, digits: Digits, outside: ir.Operation | None = None) -> None:
    """Put loops for every digit in the place of those of `op`, which is erased.

    Args:
        op: a linalg.generic on memrefs.
        digits: of its loops, from `digits_of`.
        outside: views of operands are made before this operation around `op`; None for before `op`.
    """
    with op.context, op.location:
        _Split(op, digits, outside or op).run()


def digits_of(op: ir.Operation) -> Digits | None:
    """Return the digits of the loops of `op`; None where none is divided, or they cannot be."""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    items = [item for each in maps for item in each.results]
    divided = [pair for pair in map(_division, items) if pair is not None]
    if not divided or not all(has_static_layout(value) for value in op.operands):
        return None
    plain = (ir.AffineDimExpr, ir.AffineConstantExpr)
    if any(_division(item) is None and not isinstance(item, plain) for item in items):
        return None
    found: Digits = []
    for loop, extent in enumerate(loop_extents(op)):
        divisors = sorted({k for number, k in divided if number == loop}, reverse=True)
        sizes = [extent, *divisors, 1]
        if any(larger % smaller for larger, smaller in pairwise(sizes)):
            return None
        found.append([larger // smaller for larger, smaller in pairwise(sizes)])
    return found


def divides_contiguous(op: ir.Operation, digits: Digits) -> list[int]:
    """Return the digits of the loop along which results are contiguous, if it has several."""
    written = ir.AffineMapAttr(list(op.attributes["indexing_maps"])[-1]).value
    last = written.results[-1] if len(written.results) else None
    innermost = digits[int(last.position)] if isinstance(last, ir.AffineDimExpr) else []
    return innermost if len(innermost) > 1 else []


def _has_short_end(op: ir.Operation, digits: Digits) -> bool:
    """Whether the innermost loop would be a short one that fills no vector."""
    *_, last = divides_contiguous(op, digits) or [_LONG]
    return last < _LONG and last not in _IN_VECTORS


def _division(item: ir.AffineExpr) -> tuple[int, int] | None:
    """Return the loop and the divisor of a quotient or remainder; None for any other index."""
    if not isinstance(item, ir.AffineFloorDivExpr | ir.AffineModExpr):
        return None
    if not isinstance(item.lhs, ir.AffineDimExpr) or not isinstance(
        item.rhs, ir.AffineConstantExpr
    ):
        return None
    return item.lhs.position, int(item.rhs.value)


@dataclass(frozen=True)
class _Split:
    """One linalg.generic, to be replaced at the insertion point."""

    op: ir.Operation
    digits: Digits
    outside: ir.Operation

    def run(self) -> None:
        maps = [ir.AffineMapAttr(each).value for each in self.op.attributes["indexing_maps"]]
        with ir.InsertionPoint(self.outside):
            pairs = [self._operand(*each) for each in zip(self.op.operands, maps, strict=True)]
        copy = self.op.clone(ip=ir.InsertionPoint(self.op)).operation
        for number, (value, _) in enumerate(pairs):
            copy.operands[number] = value
        loops = sum(map(len, self.digits))
        kinds = list(self.op.attributes["iterator_types"])
        copy.attributes["iterator_types"] = ir.ArrayAttr.get(
            [kind for kind, each in zip(kinds, self.digits, strict=True) for _ in each]
        )
        copy.attributes["indexing_maps"] = ir.ArrayAttr.get(
            [ir.AffineMapAttr.get(ir.AffineMap.get(loops, 0, items)) for _, items in pairs]
        )
        for view in list(copy.regions[0].blocks[0].operations):
            if view.operation.name == "linalg.index":
                self._index(view.operation)
        self.op.erase()

    def _first(self, loop: int) -> int:
        """The number of the first loop that takes the place of `loop`."""
        return sum(map(len, self.digits[:loop]))

    def _operand(
        self, value: ir.Value, indexing_map: ir.AffineMap
    ) -> tuple[ir.Value, list[ir.AffineExpr]]:
        """Return a view of an operand with a dimension for every digit, and how it is indexed."""
        items: list[ir.AffineExpr] = []
        shape: list[list[int]] = []
        for item in indexing_map.results:
            loops = self._loops(item)
            if loops is None:
                items.append(item)
                shape.append([ir.MemRefType(value.type).shape[len(shape)]])
            else:
                items += [ir.AffineDimExpr.get(number) for number, _ in loops]
                shape.append([extent for _, extent in loops])
        if all(len(each) == 1 for each in shape) or not isinstance(value.type, ir.MemRefType):
            return value, items
        return _expanded(value, shape), items

    def _loops(self, item: ir.AffineExpr) -> list[tuple[int, int]] | None:
        """Return the number and extent of the loops that `item` is made of; None for a constant."""
        divided = _division(item)
        if divided is None and not isinstance(item, ir.AffineDimExpr):
            return None
        loop, divisor = (item.position, 1) if divided is None else divided
        digits = list(enumerate(self.digits[loop], self._first(loop)))
        sizes = self.digits[loop]  # of which the first one may be 1
        inner = next(n for n in range(len(sizes), -1, -1) if prod(sizes[n:]) == divisor)
        if divided is not None and isinstance(item, ir.AffineModExpr):
            return digits[inner:]
        return digits if divided is None else digits[:inner]

    def _index(self, op: ir.Operation) -> None:
        """Replace the number of a loop by what its digits amount to."""
        loop = ir.IntegerAttr(op.attributes["dim"]).value
        kind = ir.IndexType.get()
        with ir.InsertionPoint(op):
            parts = []
            steps = row_major_steps(self.digits[loop])
            for number, step in enumerate(steps, self._first(loop)):
                dim = ir.IntegerAttr.get(ir.IntegerType.get_signless(64), number)
                part = ir.Operation.create("linalg.index", [kind], attributes={"dim": dim}).result
                if step > 1:
                    factor = ir.Operation.create(
                        "arith.constant",
                        [kind],
                        attributes={"value": ir.IntegerAttr.get(kind, step)},
                    ).result
                    part = ir.Operation.create("arith.muli", [kind], [part, factor]).result
                parts.append(part)
            total = parts[0]
            for part in parts[1:]:
                total = ir.Operation.create("arith.addi", [kind], [total, part]).result
        op.results[0].replace_all_uses_with(total)
        op.erase()


def _expanded(value: ir.Value, shape: Sequence[Sequence[int]]) -> ir.Value:
    """Return a view of `value` whose dimensions are cut into those of `shape`."""
    kind = ir.MemRefType(value.type)
    strides, offset = kind.get_strides_and_offset()
    sizes = [extent for each in shape for extent in each]
    steps = [
        stride * step
        for stride, each in zip(strides, shape, strict=True)
        for step in row_major_steps(each)
    ]
    layout = None if is_contiguous(value) else ir.StridedLayoutAttr.get(offset, steps)
    numbers = iter(range(len(sizes)))
    index = ir.IntegerType.get_signless(64)
    groups = [[ir.IntegerAttr.get(index, next(numbers)) for _ in each] for each in shape]
    return ir.Operation.create(
        "memref.expand_shape",
        results=[ir.MemRefType.get(sizes, kind.element_type, layout)],
        operands=[value],
        attributes={
            "reassociation": ir.ArrayAttr.get([ir.ArrayAttr.get(each) for each in groups]),
            "static_output_shape": ir.DenseI64ArrayAttr.get(sizes),
        },
    ).result
