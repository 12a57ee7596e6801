# SPDX-License-Identifier: MIT OR Apache-2.0
"""`data-by-slices`: padding and concatenation as writes into slices of one tensor."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named, terminator
from xyntra.passes.lower.loops.memrefs import identity_map
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class DataBySlices:
    """Rewrite tensor.pad with one value, tensor.concat and large splat constants.

    Bufferization then writes the parts straight into the result, where it would otherwise build a
    whole tensor first (or keep it in the object code) and copy that.
    """

    name: ClassVar[str] = "data-by-slices"

    def run(self, module: ir.Operation) -> None:
        """Rewrite the operations of static shape below `module`."""
        rules = {
            "tensor.pad": _pad,
            "tensor.concat": _concat,
            "arith.constant": _splat,
        }
        for op in operations_named(module, *rules):
            if not all(_is_static(value.type) for value in [op.result, *op.operands]):
                continue
            with op.context, op.location, ir.InsertionPoint(op):
                value = rules[op.name](op)
            if value is not None:
                op.result.replace_all_uses_with(value)
                op.erase()


def _is_static(kind: ir.Type) -> bool:
    """Tell whether `kind` is a tensor of static shape."""
    return isinstance(kind, ir.RankedTensorType) and bool(kind.has_static_shape)


def _pad(op: ir.Operation) -> ir.Value | None:
    body = op.regions[0].blocks[0]
    filler = terminator(body).operands[0]
    lows = list(ir.DenseI64ArrayAttr(op.attributes["static_low"]))
    highs = ir.DenseI64ArrayAttr(op.attributes["static_high"])
    if len(op.operands) > 1 or min([0, *lows, *highs]) < 0 or _is_inside(filler, body):
        return None
    whole = _filled(op.result.type, filler)
    return _insert(op.operands[0], whole, lows)


def _is_inside(value: ir.Value, body: ir.Block) -> bool:
    if isinstance(value.owner, ir.Block):
        return bool(value.owner == body)
    return bool(value.owner.operation.block == body)


def _concat(op: ir.Operation) -> ir.Value:
    dimension = ir.IntegerAttr(op.attributes["dim"]).value
    whole = emit("tensor.empty", [], op.result.type)
    offsets = [0] * ir.RankedTensorType(op.result.type).rank
    for part in op.operands:
        whole = _insert(part, whole, offsets)
        offsets[dimension] += ir.RankedTensorType(part.type).shape[dimension]
    return whole


def _splat(op: ir.Operation) -> ir.Value | None:
    value = op.attributes["value"]
    if not isinstance(value, ir.DenseElementsAttr) or not value.is_splat:
        return None
    element = value.get_splat_value()
    kind = ir.RankedTensorType(op.result.type).element_type
    return _filled(op.result.type, emit("arith.constant", [], kind, value=element))


def _filled(kind: ir.Type, filler: ir.Value) -> ir.Value:
    tensor = ir.RankedTensorType(kind)
    parallel = ir.Attribute.parse("#linalg.iterator_type<parallel>")
    generic = ir.Operation.create(
        "linalg.generic",
        results=[kind],
        operands=[emit("tensor.empty", [], kind)],
        attributes={
            "indexing_maps": ir.ArrayAttr.get([identity_map(tensor.rank)]),
            "iterator_types": ir.ArrayAttr.get([parallel] * tensor.rank),
            "operandSegmentSizes": ir.DenseI32ArrayAttr.get([0, 1]),
        },
        regions=1,
    )
    block = generic.regions[0].blocks.append(tensor.element_type)
    with ir.InsertionPoint(block):
        ir.Operation.create("linalg.yield", operands=[filler])
    return generic.result


def _insert(part: ir.Value, whole: ir.Value, offsets: Sequence[int]) -> ir.Value:
    shape = list(ir.RankedTensorType(part.type).shape)
    if 0 in shape:  # its offset may lie behind the last element, which insert_slice refuses
        return whole
    return emit(
        "tensor.insert_slice",
        [part, whole],
        whole.type,
        static_offsets=ir.DenseI64ArrayAttr.get(list(offsets)),
        static_sizes=ir.DenseI64ArrayAttr.get(shape),
        static_strides=ir.DenseI64ArrayAttr.get([1] * len(shape)),
        operandSegmentSizes=ir.DenseI32ArrayAttr.get([1, 1, 0, 0, 0]),
    )
