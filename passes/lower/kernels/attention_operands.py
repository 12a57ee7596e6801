# SPDX-License-Identifier: MIT OR Apache-2.0
"""Locates the operands of an attention in memory, and loads and stores their vectors."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

from xyntra.dialects.attention import Access as Operand
from xyntra.dialects.attention_layout import QUERY
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.dialects.tensors.positions import Digit, Position
from xyntra.passes.analysis.sizes.session import sized_strides
from xyntra.passes.lower.loops import integers
from xyntra.passes.lower.loops.linear_nest import BufferOperand
from xyntra.passes.lower.loops.loop_builder import index, plus
from xyntra.passes.lower.loops.memrefs import flattened

__all__ = ["Matrix", "Outer", "flat_view", "locate"]

Outer = Mapping[int, ir.Value]
"""The current iteration of the loops over batches and heads."""


@dataclass(frozen=True)
class Matrix:
    """An operand as a flat buffer.

    Attributes:
        memory: memref of one dimension.
        first: the element that the first iteration touches, relative to the buffer, without what
            the outer loops add.
        outer: digits of the outer loops with the elements that each moves on.
        strides: elements that each inner loop moves on, by its number.
    """

    memory: ir.Value
    first: int
    outer: tuple[tuple[Digit, int], ...]
    strides: Mapping[int, int]

    def start(self, outer: Outer) -> ir.Value:
        """The element at which the matrix of one head starts."""
        total = index(self.first)
        for digit, factor in self.outer:
            value = outer[digit.loop]
            if digit.divisor > 1:
                value = integers.divui(value, index(digit.divisor))
            value = integers.remui(value, index(digit.extent))
            total = plus(total, integers.muli(value, index(factor)))
        return total

    def period(self, loop: int) -> int:
        """After how many iterations of an outer loop the start changes; 0 where it never does."""
        return gcd(*(digit.divisor for digit, _ in self.outer if digit.loop == loop))

    def stride(self, loop: int) -> int:
        """Elements that a loop over positions or sizes moves on."""
        return self.strides.get(loop, 0)


def locate(operand: Operand) -> Matrix:
    """Describe an operand of static layout; a flat view is made at the insertion point."""
    kind = ir.MemRefType(operand.value.type)
    steps = sized_strides(kind)
    total = Position()
    for position, step in zip(operand.positions, steps, strict=True):
        total += position * step
    strides = {digit.loop: factor for digit, factor in total.terms if digit.loop >= QUERY}
    outer = tuple(term for term in total.terms if term[0].loop < QUERY)
    return Matrix(flattened(operand.value), total.constant, outer, strides)


def flat_view(memory: ir.Value, start: ir.Value, size: int) -> ir.Value:
    """A memref over `size` elements of a flat buffer from element `start` on."""
    kind = ir.MemRefType(memory.type)
    dynamic = ir.ShapedType.get_dynamic_stride_or_offset()
    layout = ir.StridedLayoutAttr.get(dynamic, [1])
    view = ir.Operation.create(
        "memref.subview",
        results=[ir.MemRefType.get([size], kind.element_type, layout)],
        operands=[memory, start],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([ir.ShapedType.get_dynamic_size()]),
            "static_sizes": ir.DenseI64ArrayAttr.get([size]),
            "static_strides": ir.DenseI64ArrayAttr.get([1]),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 1, 0, 0]),
        },
    )
    return view.result


def access(memory: ir.Value, *strides: int) -> BufferOperand:
    """A flat buffer that starts at its first element."""
    return BufferOperand(memory, 0, strides)


def load_vector(memory: ir.Value, place: ir.Value, lanes: int) -> ir.Value:
    """`lanes` contiguous elements."""
    element = ir.MemRefType(memory.type).element_type
    return emit("vector.load", [memory, place], ir.VectorType.get([lanes], element))


def store_vector(value: ir.Value, memory: ir.Value, place: ir.Value) -> None:
    """Write contiguous elements."""
    ir.Operation.create("vector.store", operands=[value, memory, place])
