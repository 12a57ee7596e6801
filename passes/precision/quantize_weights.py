# SPDX-License-Identifier: MIT OR Apache-2.0
"""`quantize-weights`: weights of products are stored in 4 or 8 bits, by blocks with scales."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod
from typing import ClassVar, Literal

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.packed_product import PackedWeight
from xyntra.passes.analysis.functions import function_blocks, weight_positions
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.narrow_scales import narrow_scales
from xyntra.passes.precision.report import (
    PART,
    QUANTIZED_FROM,
    ROUNDED,
    NodePrecision,
    record_precisions,
)
from xyntra.passes.precision.weight_part import BLOCK, WeightPart
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.matrix_products import MatrixProduct
from xyntra.passes.registry import register_pass

__all__ = ["QuantizeWeights"]

_FLOATS = ("f32", "f16", "bf16")
_MIN_ELEMENTS = 1 << 14
_MIDDLE = {4: 8, 8: 128}


@register_pass
@dataclass(frozen=True)
class QuantizeWeights:
    """Store the weights of matrix products in a few bits, and dequantize them in the products.

    A weight of f32, f16 or bf16 becomes integers, scales of f16 for blocks of 32 steps of the sum
    and, with 4 bits, zero points: parameters that are made of it when the model is loaded. The
    products compute as before, on what these stand for. Weights that are packed in the model stay
    so, with scales of f16 instead of f32. Weights that something else reads as well,
    such as tables of embeddings, and small ones stay as they are; the module says which, and why.
    """

    name: ClassVar[str] = "quantize-weights"

    bits: Literal[4, 8] = 4

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        found: list[NodePrecision] = []
        for block in list(function_blocks(module)):
            found += _Quantizer(block, self.bits).run()
        record_precisions(module, found)


class _Quantizer:
    """Rewrites one function."""

    def __init__(self, block: ir.Block, bits: Literal[4, 8]) -> None:
        self.block, self.bits = block, bits
        function = block.owner
        self.given: list[ir.Attribute] = []
        if "arg_attrs" in function.attributes:
            self.given = list(ir.ArrayAttr(function.attributes["arg_attrs"]))

    def run(self) -> Iterator[NodePrecision]:
        """Quantize what can be; yields what was decided."""
        narrowed = narrow_scales(self.block)
        for place in narrowed:
            yield self._note_rounded(place)
        weights = sorted(weight_positions(self.block) - set(narrowed))
        removed, replaced = [], []
        for place in weights:
            argument = self.block.arguments[place]
            name = str(ir.DictAttr(self.given[place])["xyntra.parameter"].value)
            products, reason = _products(argument)
            if reason:
                yield NodePrecision(f"weight {name}", "f32", reason)
            if not products:
                continue
            with argument.context, self.block.owner.location:
                parts = self._parts(argument, name, products[0].turned)
                for each in products:
                    with each.op.location:
                        each.replace(
                            TensorBuilder(ir.InsertionPoint(each.op), each.op.location), parts
                        )
                    nodes = ", ".join(source_nodes(each.op.location)[:3])
                    yield NodePrecision(nodes, f"w{self.bits}", "")
            replaced += [each.op for each in products]
            removed.append(place)
        erase_unused(replaced)
        for place in reversed(removed):
            self.block.erase_argument(place)
            del self.given[place]
        if removed or narrowed:
            self._finish()

    def _note_rounded(self, place: int) -> NodePrecision:
        """Say that an argument is rounded to f16 when the model is loaded."""
        entries = {entry.name: entry.attr for entry in ir.DictAttr(self.given[place])}
        with self.block.owner.context:
            entries["xyntra.dtype"] = ir.StringAttr.get("float16")
            entries[ROUNDED] = ir.StringAttr.get("float32")
            self.given[place] = ir.DictAttr.get(entries)
        return NodePrecision(
            f"weight {ir.StringAttr(entries['xyntra.parameter']).value}", "f16", ""
        )

    def _parts(self, weight: ir.Value, name: str, turned: bool) -> PackedWeight:
        """Add the arguments that take the place of a weight."""
        shape = ir.RankedTensorType(weight.type).shape
        columns, steps = (shape[1], shape[0]) if turned else (shape[0], shape[1])
        blocks = -(-steps // BLOCK)

        def part(kind: str, sizes: list[int], dtype: str) -> Tensor:
            text = WeightPart(self.bits, kind, (shape[0], shape[1]), turned)
            element = {
                "uint8": ir.IntegerType.get_signless(8),
                "float16": ir.F16Type.get(),
            }[dtype]
            entries = {
                "xyntra.parameter": f"{name}#w{self.bits}.{kind}",
                "xyntra.dtype": dtype,
                QUANTIZED_FROM: name,
                PART: str(text),
            }
            self.given.append(
                ir.DictAttr.get({key: ir.StringAttr.get(each) for key, each in entries.items()})
            )
            type_ = ir.RankedTensorType.get(sizes, element)
            return Tensor(self.block.add_argument(type_, self.block.owner.location), dtype)

        integers = part("integers", [columns, blocks, BLOCK * self.bits // 8], "uint8")
        scales = part("scales", [columns, blocks], "float16")
        zeros: Tensor | int = _MIDDLE[self.bits]
        if self.bits == 4:
            zeros = part("zeros", [columns, blocks], "uint8")
        return PackedWeight(integers, scales, zeros, self.bits, steps)

    def _finish(self) -> None:
        """Give the function the types and attributes of its arguments."""
        function = self.block.owner
        before = ir.FunctionType(ir.TypeAttr(function.attributes["function_type"]).value)
        with function.context:
            inputs = [argument.type for argument in self.block.arguments]
            type_ = ir.TypeAttr.get(ir.FunctionType.get(inputs, before.results))
            function.attributes["function_type"] = type_
            function.attributes["arg_attrs"] = ir.ArrayAttr.get(self.given)


def _products(weight: ir.Value) -> tuple[list[MatrixProduct], str]:
    """Return the products that read a weight; none, perhaps with a reason, where it stays."""
    type_ = ir.RankedTensorType(weight.type)
    if str(type_.element_type) not in _FLOATS or type_.rank < 2:
        return [], ""
    uses = [(use.owner.operation, use.operand_number) for use in weight.uses]
    found = [MatrixProduct.of(*use) for use in uses]
    products = [each for each in found if each is not None]
    if not products:
        return [], "no matrix product reads it as it is"
    if len(products) < len(uses) or len({each.turned for each in products}) > 1:
        return [], "something else than products reads it, too"
    if prod(type_.shape) < _MIN_ELEMENTS:
        return [], "it is small"
    return products, ""
