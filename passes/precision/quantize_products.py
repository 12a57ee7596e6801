# SPDX-License-Identifier: MIT OR Apache-2.0
"""`quantize-products`: factors of products with weights become integers of 8 bits."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
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
    rounded_rows,
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
    samples have shown them, for every product, or why it stays in f32. Where the scale is 0, a call
    finds one for each row of that factor. The weight has a scale for each channel, and is quantized
    when the model is loaded. The module says what was decided.
    """

    name: ClassVar[str] = "quantize-products"

    switches: bool = False
    """Whether `main` computes every product in f32 as well, and has one more input of f32, called
    "xyntra.switches": where the number for a product is 1, it is quantized as its range says; where
    it is 2 and the product has rows, with a scale for each of them."""

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
            kind = "f32" if reason else "int8 by rows" if range_.by_rows else "int8"
            yield NodePrecision(nodes_of(op), kind, reason)

    def _quantize(self, product: WeightedProduct, range_: FactorRange, number: int) -> None:
        op = product.op
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        ranges = [range_]
        if self._switches is not None and product.rows and not range_.by_rows:
            ranges.append(range_.of_rows)
        factors = [self._factor(b, product, each) for each in ranges]
        weight = Tensor.of(product.weight)
        scale = weight_scale(b, weight, product.channels)
        integers = b.map(integers_of, weight, scale, dtype="int8")
        again = b.map(_dequantized, integers, scale, dtype="float32")
        targets = [op]
        if self._switches is not None:
            uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
            with b.insertion_point:
                targets = [op.clone().operation for _ in ranges]
            either = _switched(op, targets, self._switches, number)
            for reader, place in uses:
                reader.operands[place] = either
        for target, factor in zip(targets, factors, strict=True):
            target.operands[product.place] = factor
            target.operands[1 - product.place] = again.value

    def _factor(self, b: TensorBuilder, product: WeightedProduct, range_: FactorRange) -> ir.Value:
        """Return what the integers of the factor of a product stand for."""
        op = product.op
        if range_.by_rows:
            source = op.operands[product.place]
            if (source, range_) not in self._known:
                self._known[source, range_] = _requantized_rows(b, source, product.rows, range_)
            return self._known[source, range_]
        source = product.source
        if (source, range_) not in self._known:
            self._known[source, range_] = _requantized(b, source, range_)
        return through_steps(b, product, self._known[source, range_], op)


def _switched(
    op: ir.Operation, others: Sequence[ir.Operation], switches: Tensor, number: int
) -> ir.Value:
    """Return the result of `op` where the switch is 0, or that of the other that it counts to."""
    b = TensorBuilder(ir.InsertionPoint.after(op), op.location)
    exact, *quantized = (Tensor.of(each.results[0]) for each in (op, *others))
    same = b.identity(exact.rank)
    place = ir.AffineMap.get(exact.rank, 0, [ir.AffineConstantExpr.get(number)])

    def body(*arguments: Scalar) -> Scalar:
        value, *given, switch, _ = arguments
        for step, other in enumerate(given):
            value = (switch > step + 0.5).select(other, value)
        return value

    return b.generic(
        [(exact, same), *((each, same) for each in quantized), (switches, place)],
        [(b.empty(exact.shape, "float32"), "float32", same)],
        ["parallel"] * exact.rank,
        body,
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


def _requantized_rows(
    b: TensorBuilder, source: ir.Value, rows: Sequence[int], range_: FactorRange
) -> ir.Value:
    """Return what the integers of a factor stand for, with a scale for each row of values.

    Where the largest magnitude of a row is not finite, so are all sums of it, as they are in f32.
    """
    tensor = Tensor.of(source)
    axes = [dim for dim in range(tensor.rank) if dim not in rows]
    integers, scale = rounded_rows(b, tensor, axes, range_.dtype)
    return b.map(_dequantized, integers, scale, dtype="float32").value


def _dequantized(value: Scalar, scale: Scalar) -> Scalar:
    return value.cast("int32").cast("float32") * scale
