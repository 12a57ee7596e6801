# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes a linear nest as a linalg.generic on views of the memory that it touches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.lower.loops.linear_nest import BufferOperand, Loop
from xyntra.passes.lower.loops.memrefs import root

Body = Callable[[list[ir.Value]], Sequence[ir.Value]]


def generic_of(
    loops: Sequence[Loop],
    inputs: Sequence[BufferOperand],
    outputs: Sequence[BufferOperand],
    body: Body,
) -> ir.Operation:
    """Create a linalg.generic at the insertion point.

    Args:
        loops: in order.
        inputs: what it reads; strides may be negative, as long as an output has the loop as well.
        outputs: what it writes.
        body: emits the scalar code; is given the elements of all inputs and outputs, and returns
            what the outputs become.
    """
    views = [_view(each, loops) for each in (*inputs, *outputs)]
    operands = [value for value, _ in views]
    kinds = ["reduction" if loop.is_reduction else "parallel" for loop in loops]
    iterators = [ir.Attribute.parse(f"#linalg.iterator_type<{kind}>") for kind in kinds]
    generic = ir.Operation.create(
        "linalg.generic",
        operands=operands,
        attributes={
            "indexing_maps": ir.ArrayAttr.get([ir.AffineMapAttr.get(each) for _, each in views]),
            "iterator_types": ir.ArrayAttr.get(iterators),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([len(inputs), len(outputs)]),
        },
        regions=1,
    )
    elements = [_element(value) for value in operands]
    block = generic.regions[0].blocks.append(*elements)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=list(body(list(block.arguments))))
    return generic


def _element(value: ir.Value) -> ir.Type:
    kind = value.type
    return kind.element_type if isinstance(kind, ir.MemRefType) else kind


def _view(access: BufferOperand, loops: Sequence[Loop]) -> tuple[ir.Value, ir.AffineMap]:
    """Return a view with a dimension for every loop that moves an access, and the map to them."""
    if access.is_scalar:
        return access.value, ir.AffineMap.get(len(loops), 0, [])
    start, sizes, strides, places = access.start, [], [], []
    for number, (loop, step) in enumerate(zip(loops, access.strides, strict=True)):
        if not step:
            continue
        place: ir.AffineExpr = ir.AffineDimExpr.get(number)
        if step < 0:
            start += step * (loop.extent - 1)
            place = place * -1 + (loop.extent - 1)
        sizes.append(loop.extent)
        strides.append(abs(step))
        places.append(place)
    if not sizes:
        sizes, strides, places = [1], [1], [ir.AffineConstantExpr.get(0)]
    whole = root(access.value)
    layout = ir.StridedLayoutAttr.get(start, strides)
    view = ir.Operation.create(
        "memref.reinterpret_cast",
        results=[ir.MemRefType.get(sizes, access.element_type, layout)],
        operands=[whole],
        attributes={
            "static_offsets": ir.DenseI64ArrayAttr.get([start]),
            "static_sizes": ir.DenseI64ArrayAttr.get(sizes),
            "static_strides": ir.DenseI64ArrayAttr.get(strides),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([1, 0, 0, 0]),
        },
    )
    return view.result, ir.AffineMap.get(len(loops), 0, places)
