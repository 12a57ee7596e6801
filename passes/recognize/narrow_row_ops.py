# SPDX-License-Identifier: MIT OR Apache-2.0
"""`narrow-row-ops`: norms and softmax take over the conversions of 16-bit floats around them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects import named
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.conversions import converts
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import fused_location
from xyntra.passes.analysis.owners import only_reader, owner_of
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["NarrowRowOps"]

_NARROW = ("f16", "bf16")
_SOFTMAX, _LOG_SOFTMAX = "xyntra.softmax", "xyntra.log_softmax"
_LAYER_NORM, _RMS_NORM = "xyntra.layer_norm", "xyntra.rms_norm"
_ROW_OPS = (_SOFTMAX, _LOG_SOFTMAX, _LAYER_NORM, _RMS_NORM)


@register_pass
@dataclass(frozen=True)
class NarrowRowOps:
    """Replace f32 norms and softmax between conversions from and to 16 bits by narrow ones.

    These compute in f32 and round once by themselves, so that results do not change. A scale of 16
    bits that an RMS norm's rounded result is multiplied by, as T5 and Llama do, becomes the norm's:
    then the product alone is rounded.
    """

    name: ClassVar[str] = "narrow-row-ops"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            for op in [view.operation for view in block.operations if view.name in _ROW_OPS]:
                last = _narrowed(op)
                if last is not None:
                    replaced.append(last)
        erase_unused(replaced)


def _narrowed(op: ir.Operation) -> ir.Operation | None:
    """Put a narrow operation in place of `op`; return the last one of those that it replaces."""
    values = [source for value in op.operands if (source := _widened_from(value)) is not None]
    narrowing = only_reader(op.results[0])
    if len(values) < len(op.operands) or narrowing is None:
        return None
    if not converts(narrowing, "arith.truncf"):
        return None
    kinds = {_element(value) for value in [*values, narrowing.results[0]]}
    if len(kinds) != 1 or kinds.pop() not in _NARROW:
        return None
    last, place = narrowing, ir.InsertionPoint(narrowing)
    if op.name == _RMS_NORM and len(values) == 1:
        scaled = _scaled_by(narrowing)
        if scaled is not None:
            last, scale = scaled
            values.append(scale)
            place = ir.InsertionPoint(last)
    chain = dict.fromkeys([op.location, narrowing.location, last.location])
    builder = TensorBuilder(place, fused_location(list(chain)))
    new = _built(builder, op, [Tensor.of(value) for value in values])
    last.results[0].replace_all_uses_with(new.value)
    return last


def _built(b: TensorBuilder, op: ir.Operation, values: list[Tensor]) -> Tensor:
    axis = ir.IntegerAttr(op.attributes["axis"]).value
    if op.name == _SOFTMAX:
        return named.softmax(b, values[0], axis)
    if op.name == _LOG_SOFTMAX:
        return named.log_softmax(b, values[0], axis)
    epsilon = ir.FloatAttr(op.attributes["epsilon"]).value
    if op.name == _RMS_NORM:
        return named.rms_norm(b, values[0], axis, epsilon, *values[1:])
    given = iter(values[1:])
    sizes = list(ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]))
    scale, bias = (next(given) if size else None for size in sizes[1:])
    return named.layer_norm(b, values[0], axis, epsilon, scale, bias)


def _widened_from(value: ir.Value) -> ir.Value | None:
    """The tensor of 16-bit floats that `value` is in f32."""
    op = owner_of(value, "linalg.generic")
    is_wide = _element(value) == "f32"
    return op.operands[0] if op and is_wide and converts(op, "arith.extf") else None


def _scaled_by(narrowing: ir.Operation) -> tuple[ir.Operation, ir.Value] | None:
    """The product with a vector along the last dimension that alone reads a result."""
    result = narrowing.results[0]
    op = only_reader(result)
    if op is None or op.name != "linalg.generic" or _segments(op) != [2, 1]:
        return None
    if op.results[0].type != result.type or "reduction" in str(op.attributes["iterator_types"]):
        return None
    place = 0 if op.operands[0] == result else 1
    vector, maps = op.operands[1 - place], _maps(op)
    rank = ir.RankedTensorType(result.type).rank
    identity = ir.AffineMap.get_identity(rank)
    along = ir.AffineMap.get(rank, 0, [ir.AffineDimExpr.get(rank - 1)])
    if maps[place] != identity or maps[2] != identity or maps[1 - place] != along:
        return None
    body = op.regions[0].blocks[0]
    operations = [view.operation for view in body.operations]
    if len(operations) != 2 or operations[0].name != "arith.mulf":
        return None
    factors = set(operations[0].operands)
    is_product = factors == {body.arguments[0], body.arguments[1]}
    is_same = _element(vector) == _element(result)
    return (op, vector) if is_product and is_same else None


def _maps(op: ir.Operation) -> list[ir.AffineMap]:
    return [attribute.value for attribute in op.attributes["indexing_maps"]]


def _segments(op: ir.Operation) -> list[int]:
    return list(op.attributes["operandSegmentSizes"])


def _element(value: ir.Value) -> str:
    return str(ir.RankedTensorType(value.type).element_type)
