# SPDX-License-Identifier: MIT OR Apache-2.0
"""`quantize-products`: factors of products with weights become integers of 8 bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.errors import UnsupportedError
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.quantization import (
    FactorRange,
    integers_of,
    quantization_of,
    through_steps,
    weight_scale,
)
from xyntra.passes.precision.report import NodePrecision, record_precisions
from xyntra.passes.precision.weighted_products import (
    WeightedProduct,
    is_integer_product,
    weighted_products,
)
from xyntra.passes.registry import register_pass

__all__ = ["SWITCHES", "QuantizeProducts", "check_not_quantized", "nodes_of"]

SWITCHES = "xyntra.switches"
"""Name of the input that says which products are quantized."""

_NAMED_NODES = 3


@register_pass
@dataclass(frozen=True)
class QuantizeProducts:
    """Quantize the factors of products with weights to 8 bits, and dequantize both again.

    `integer-contractions` then multiplies the integers themselves. The module attribute
    `xyntra.quantization` has the scale and the zero point of the factor that a call computes, as
    samples have shown them, for every product, or why it stays in f32. The weight has a scale for
    each channel, and is quantized when the model is loaded. The module says what was decided.
    """

    name: ClassVar[str] = "quantize-products"

    switches: bool = False
    """Whether `main` computes every product in f32 as well, and has one more input of f32, called
    "xyntra.switches": the quantized product is taken where the number for it is above 0."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        found: list[NodePrecision] = []
        for block in list(function_blocks(module)):
            products = list(weighted_products(block))
            if not products:
                check_not_quantized(block)
            ranges = quantization_of(module, len(products))
            switches = _add_switches(block, len(products)) if self.switches else None
            found += _Rewriter(switches).rewrite(products, ranges)
        record_precisions(module, found)


def check_not_quantized(block: ir.Block) -> None:
    """Refuse a function without products of f32 that multiplies integers.

    Raises:
        UnsupportedError: `precision-quantized`.
    """
    for view in block.operations:
        if is_integer_product(view.operation):
            raise UnsupportedError(
                "precision-quantized",
                "the model is quantized already",
                place=nodes_of(view.operation),
                cause="it multiplies integers, and has no products of f32 with weights",
                hint="leave out precision",
            )


def nodes_of(op: ir.Operation) -> str:
    """Return the nodes of the model that became `op`, the first ones by name."""
    found = source_nodes(op.location)
    more = f" and {len(found) - _NAMED_NODES} more" if len(found) > _NAMED_NODES else ""
    return ", ".join(found[:_NAMED_NODES]) + more


class _Rewriter:
    """Rewrites the products of one function."""

    def __init__(self, switches: Tensor | None) -> None:
        self._switches = switches
        self._known: dict[tuple[ir.Value, FactorRange], ir.Value] = {}

    def rewrite(
        self, products: list[WeightedProduct], ranges: list[FactorRange]
    ) -> Iterator[NodePrecision]:
        """Yield what was decided for each product."""
        for number, (product, range_) in enumerate(zip(products, ranges, strict=True)):
            op = product.op
            reason = product.reason or range_.reason
            if not reason:
                with op.context, op.location:
                    self._quantize(product, range_, number)
            yield NodePrecision(nodes_of(op), "f32" if reason else "int8", reason)

    def _quantize(self, product: WeightedProduct, range_: FactorRange, number: int) -> None:
        op = product.op
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        key = product.source, range_
        if key not in self._known:
            self._known[key] = _requantized(b, product.source, range_)
        factor = through_steps(b, product, self._known[key], op)
        weight = Tensor.of(product.weight)
        scale = weight_scale(b, weight, product.channels)
        integers = b.map(integers_of, weight, scale, dtype="int8")
        again = b.map(_dequantized, integers, scale, dtype="float32")
        target = op
        if self._switches is not None:
            uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
            with b.insertion_point:
                target = op.clone().operation
            either = _switched(op, target, self._switches, number)
            for reader, place in uses:
                reader.operands[place] = either
        target.operands[product.place] = factor
        target.operands[1 - product.place] = again.value


def _switched(op: ir.Operation, other: ir.Operation, switches: Tensor, number: int) -> ir.Value:
    """Return the result of `other` where the switch is on, and that of `op` where it is not."""
    b = TensorBuilder(ir.InsertionPoint.after(op), op.location)
    exact, quantized = Tensor.of(op.results[0]), Tensor.of(other.results[0])
    same = b.identity(exact.rank)
    place = ir.AffineMap.get(exact.rank, 0, [ir.AffineConstantExpr.get(number)])
    return b.generic(
        [(exact, same), (quantized, same), (switches, place)],
        [(b.empty(exact.shape, "float32"), "float32", same)],
        ["parallel"] * exact.rank,
        lambda x, y, switch, _: (switch > 0).select(y, x),
    )[0].value


def _add_switches(block: ir.Block, count: int) -> Tensor:
    """Give the function with the body `block` an input of one f32 for each product."""
    function = block.owner
    before = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
    with function.context:
        type_ = ir.RankedTensorType.get([count], ir.F32Type.get())
        given = [ir.DictAttr.get({})] * len(block.arguments)
        if "arg_attrs" in function.attributes:
            given = list(ir.ArrayAttr(function.attributes["arg_attrs"]))
        given.append(ir.DictAttr.get({"xyntra.input": ir.StringAttr.get(SWITCHES)}))
        argument = block.add_argument(type_, function.location)
        whole = ir.FunctionType.get([*before.inputs, type_], before.results)
        function.attributes["function_type"] = ir.TypeAttr.get(whole)
        function.attributes["arg_attrs"] = ir.ArrayAttr.get(given)
    return Tensor(argument, "float32")


def _requantized(b: TensorBuilder, source: ir.Value, range_: FactorRange) -> ir.Value:
    """Return what the integers of a factor stand for."""
    scale, point = np.float32(range_.scale), range_.point

    def quantize(value: Scalar) -> Scalar:
        # A product with the reciprocal takes a fraction of the time of a division.
        rounded = (value * float(np.float32(1) / scale)).math("roundeven")
        return (rounded + point if point else rounded).saturate(range_.dtype)

    def dequantize(value: Scalar) -> Scalar:
        wide = value.cast("int32")
        return (wide - point if point else wide).cast("float32") * float(scale)

    integers = b.map(quantize, Tensor.of(source), dtype=range_.dtype)
    return b.map(dequantize, integers, dtype="float32").value


def _dequantized(value: Scalar, scale: Scalar) -> Scalar:
    return value.cast("int32").cast("float32") * scale
