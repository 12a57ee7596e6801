# SPDX-License-Identifier: MIT OR Apache-2.0
"""`float8-products`: products of 16-bit floats with weights multiply floats of 8 bits."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import convert
from xyntra.dialects.scalar import Scalar
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.locations import source_nodes
from xyntra.passes.precision.magnitudes import FACTORS
from xyntra.passes.precision.quantization import TINY, narrowed, rounded_rows, weight_scale
from xyntra.passes.precision.quantize_products import nodes_of
from xyntra.passes.precision.report import NodePrecision, precisions_of, record_precisions
from xyntra.passes.precision.weighted_products import WeightedProduct, weighted_products
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.registry import register_pass

__all__ = ["Float8Products"]

_DTYPE = "float8_e4m3fn"
_OVERLAPS = "its sums share elements of an image"
_FROM_SAMPLES = 256.0
"""What the largest magnitude in samples becomes at most: calls may exceed it by 1.75 times."""


@register_pass
@dataclass(frozen=True)
class Float8Products:
    """Multiply floats of 8 bits (e4m3) in products with weights whose factors are f16 or bf16.

    Each row of the factor that a call computes has a scale, from the largest magnitude in it, or
    all of them have one, where `lower-precision` has noted what samples say of the factor. Columns
    of the weight, which is narrowed when the model is loaded, have theirs. Sums are of f32, and
    take scales afterwards. A row with a NaN or an infinity has results that are NaN. Products of
    two computed factors, of small weights and of overlapping windows stay as they are. Replaces
    what the module says of the types of products.
    """

    name: ClassVar[str] = "float8-products"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        found: list[NodePrecision] = []
        named: set[str] = set()
        for block in list(function_blocks(module)):
            rewriter, replaced = _Rewriter(), []
            for product in list(weighted_products(block, widened=True)):
                op, scale = product.op, _scale(product)
                reason = product.reason or ("" if product.rows else _OVERLAPS)
                named.update(source_nodes(op.location))
                if not reason:
                    with op.context, op.location:
                        result = rewriter.rewritten(product, scale)
                        op.results[0].replace_all_uses_with(result.value)
                    replaced.append(op)
                kind = "fp8" if scale else "fp8 by rows"
                kind = _type_of(op.operands[0]) if reason else kind
                found.append(NodePrecision(nodes_of(op), kind, ""))
            erase_unused(replaced)
            _forget(block)
        known = [each for each in precisions_of(module) if not _is_one_of(each, named)]
        record_precisions(module, [*known, *found])


def _scale(product: WeightedProduct) -> float:
    """Return the scale of the factor that a call computes, by samples; 0 without any."""
    found = product.op.attributes.get(FACTORS, None)
    peak = list(found)[product.place] if isinstance(found, ir.DenseF32ArrayAttr) else 0.0
    return peak / _FROM_SAMPLES if TINY < peak < float("inf") else 0.0


def _forget(block: ir.Block) -> None:
    """Leave no notes, so that equal products are equal kernels."""
    for view in block.operations:
        if FACTORS in view.operation.attributes:
            del view.operation.attributes[FACTORS]


def _is_one_of(entry: NodePrecision, named: set[str]) -> bool:
    """Tell whether an entry is about products that are looked at here."""
    return not entry.reason and set(entry.nodes.split(", ")) <= named


def _type_of(value: ir.Value) -> str:
    return str(ir.RankedTensorType(value.type).element_type)


class _Rewriter:
    """Builds products of narrowed factors in one function; rows are narrowed once for all."""

    def __init__(self) -> None:
        self._rows: dict[tuple[ir.Value, tuple[int, ...]], tuple[Tensor, Tensor]] = {}
        self._whole: dict[tuple[ir.Value, float], Tensor] = {}

    def rewritten(self, product: WeightedProduct, scale: float) -> Tensor:
        """Return what takes the place of the result of a product.

        Args:
            product: what is computed.
            scale: of the factor that a call computes; 0 for one of each row.
        """
        op = product.op
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
        weight = Tensor.of(product.weight)
        columns = weight_scale(b, weight, product.channels, _DTYPE)
        bits = b.map(_narrowed, weight, columns, dtype=_DTYPE)
        source = product.op.operands[product.place]
        found = (self._at_scale(b, source, scale), None) if scale else self._by_rows(b, product)
        factors: list[tuple[Tensor, Tensor | None]] = [found, (bits, columns)]
        if product.place:
            factors.reverse()
        kinds: list[Iterator] = [
            "reduction" if "reduction" in str(kind) else "parallel"
            for kind in op.attributes["iterator_types"]
        ]
        (total,) = b.generic(
            [(factors[0][0], maps[0]), (factors[1][0], maps[1])],
            [(op.operands[2], "float32", maps[2])],
            kinds,
            lambda x, y, running: running + convert(x, "float32") * convert(y, "float32"),
        )
        same = b.identity(total.rank)
        scales = [
            (each, _of_result(each, map_, maps[2]))
            for (_, each), map_ in zip(factors, maps, strict=False)
            if each is not None
        ]
        output = (b.empty(total.shape, "float32"), "float32", same)

        def scaled(*arguments: Scalar) -> Scalar:
            value, *found, _ = arguments
            for each in found:
                value = value * each
            return value * scale if scale else value

        return b.generic([(total, same), *scales], [output], ["parallel"] * total.rank, scaled)[0]

    def _at_scale(self, b: TensorBuilder, source: ir.Value, scale: float) -> Tensor:
        """Return the bits of a factor with one scale; infinities are NaN, as they are in rows."""

        def body(value: Scalar) -> Scalar:
            wide = value.cast("float32")
            return convert(wide * (1 / scale) + (wide - wide), _DTYPE)

        if (source, scale) not in self._whole:
            self._whole[source, scale] = b.map(body, Tensor.of(source), dtype=_DTYPE)
        return self._whole[source, scale]

    def _by_rows(self, b: TensorBuilder, product: WeightedProduct) -> tuple[Tensor, Tensor]:
        """Return the bits of the factor that a call computes, and the scales of its rows."""
        source = product.op.operands[product.place]
        key = (source, product.rows)
        if key not in self._rows:
            tensor = Tensor.of(source)
            axes = [dim for dim in range(tensor.rank) if dim not in product.rows]
            self._rows[key] = rounded_rows(b, tensor, axes, _DTYPE)
        return self._rows[key]


def _narrowed(value: Scalar, scale: Scalar) -> Scalar:
    return narrowed(value.cast("float32") / scale, _DTYPE)


def _of_result(scale: Tensor, map_: ir.AffineMap, written: ir.AffineMap) -> ir.AffineMap:
    """Return the map from the result's dimensions to scales, which have one element along sums.

    Args:
        scale: has the rank of its factor.
        map_: by which the product reads the factor.
        written: by which it writes the result: a permutation of its loops.
    """
    places = {each.position: place for place, each in enumerate(written.results)}
    found = [
        ir.AffineConstantExpr.get(0) if extent == 1 else ir.AffineDimExpr.get(places[each.position])
        for extent, each in zip(scale.shape, map_.results, strict=True)
    ]
    return ir.AffineMap.get(len(places), 0, found)
