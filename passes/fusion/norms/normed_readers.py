# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds norms after contractions that can be folded into the contractions that read them."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import weight_positions
from xyntra.passes.analysis.walking import nested_operations
from xyntra.passes.fusion.norms.narrow_products import (
    NARROW,
    NarrowProduct,
    is_elementwise,
    product_and_behind,
    product_of,
)
from xyntra.passes.fusion.norms.norm_statistics import PART
from xyntra.passes.fusion.weights.weights import shape_of

__all__ = ["Known", "Norm", "NormReader", "norm_behind_product", "readers_of"]

_LAYER_NORM, _RMS_NORM = "xyntra.layer_norm", "xyntra.rms_norm"


@dataclass(frozen=True)
class Norm:
    """A norm of the last dimension of what a product and the operations behind it compute.

    Attributes:
        fused: the region.
        op: the norm, whose result is number `result` of the region and read by nothing in it.
        result: see `op`.
        x: what is normalised, `[rows..., columns]`.
        scale: `[columns]`, known at load; None where the norm has none.
        bias: as `scale`.
    """

    fused: ir.Operation
    op: ir.Operation
    result: int
    x: ir.Value
    scale: ir.Value | None
    bias: ir.Value | None

    @property
    def centred(self) -> bool:
        """Tell whether the mean is subtracted."""
        return bool(self.op.name == _LAYER_NORM)

    @property
    def epsilon(self) -> float:
        """Return what is added to the mean square."""
        return float(ir.FloatAttr(self.op.attributes["epsilon"]).value)


@dataclass(frozen=True)
class NormReader:
    """Operand `position` of `op`, in the region `fused`, is what a norm gives.

    `product` is None where `op` is elementwise and behind the product of the region.
    """

    fused: ir.Operation
    op: ir.Operation
    position: int
    product: NarrowProduct | None


class Known:
    """The values of a function that are known when the model is loaded."""

    def __init__(self, block: ir.Block) -> None:
        self._block = block
        weights = weight_positions(block)
        self._found = {block.arguments[position]: True for position in weights}

    def __contains__(self, value: ir.Value) -> bool:
        found = self._found.get(value)
        if found is None:
            found = self._found[value] = self._is_known(value)
        return found

    def _is_known(self, value: ir.Value) -> bool:
        if isinstance(value.owner, ir.Block):
            return False
        op = value.owner.operation
        if op.name == "arith.constant":
            return True
        if op.block != self._block:
            return False
        if op.name != "xyntra.fused":
            return op.name.startswith("tensor.") and all(each in self for each in op.operands)
        inner = list(nested_operations(op))
        made = {value for each in inner for value in each.results}
        read = {value for each in inner for value in each.operands} - made
        return all(value in self for value in read if not _is_scalar_argument(value))


def _is_scalar_argument(value: ir.Value) -> bool:
    return isinstance(value.owner, ir.Block) and not isinstance(value.type, ir.RankedTensorType)


def norm_behind_product(fused: ir.Operation, known: Known, max_rows: int) -> Norm | None:
    """The norm that ends the region of a product, if its statistics can be taken in parts."""
    operations = _operations(fused)
    norms = [op for op in operations if op.name in (_LAYER_NORM, _RMS_NORM)]
    if len(norms) != 1 or not _is_contraction(fused):
        return None
    op = norms[0]
    x = op.operands[0]
    uses = [(use.owner.operation, use.operand_number) for use in op.results[0].uses]
    if len(uses) != 1 or uses[0][0] != operations[-1] or not _has_parts(op, x, max_rows):
        return None
    if isinstance(x.owner, ir.Block) or x.owner.operation not in product_and_behind(operations):
        return None
    scale, bias = _vectors(op)
    for vector in (scale, bias):
        if vector is not None and not _is_vector(vector, x, known):
            return None
    return Norm(fused, op, uses[0][1], x, scale, bias)


def _operations(fused: ir.Operation) -> list[ir.Operation]:
    return [view.operation for view in fused.regions[0].blocks[0].operations]


def _is_contraction(fused: ir.Operation) -> bool:
    return bool(ir.StringAttr(fused.attributes["kind"]).value == "contraction")


def _has_parts(op: ir.Operation, x: ir.Value, max_rows: int) -> bool:
    """Tell whether 16-bit `x` has few rows, of whole parts, which are what `op` normalises."""
    shape = shape_of(x)
    if shape is None or len(shape) < 2 or str(x.type.element_type) not in NARROW:
        return False
    columns = shape[-1]
    is_last = ir.IntegerAttr(op.attributes["axis"]).value == len(shape) - 1
    return is_last and 0 < prod(shape[:-1]) <= max_rows and columns > 0 and columns % PART == 0


def _vectors(op: ir.Operation) -> tuple[ir.Value | None, ir.Value | None]:
    """Scale and bias."""
    sizes = [*ir.DenseI32ArrayAttr(op.attributes["operandSegmentSizes"]), 0]
    given = iter(list(op.operands)[1:])
    scale = next(given) if sizes[1] else None
    return scale, next(given) if sizes[2] else None


def _is_vector(vector: ir.Value, x: ir.Value, known: Known) -> bool:
    shape = shape_of(x)
    return shape is not None and shape_of(vector) == shape[-1:] and vector in known


def readers_of(norm: Norm, known: Known) -> list[NormReader] | None:
    """Who reads what `norm` gives; None where nobody does, or one needs the tensor itself."""
    readers = []
    for use in norm.fused.results[norm.result].uses:
        reader = _reader(use.owner.operation, use.operand_number, known)
        if reader is None:
            return None
        readers.append(reader)
    return readers or None


def _reader(op: ir.Operation, position: int, known: Known) -> NormReader | None:
    fused = op.parent.operation
    if op.name != "linalg.generic" or fused.name != "xyntra.fused" or not _is_contraction(fused):
        return None
    product = product_of(op)
    if product is not None:
        fits = position == product.rows and op.operands[product.columns] in known
        return NormReader(fused, op, position, product) if fits else None
    if not is_elementwise(op, position) or op not in product_and_behind(_operations(fused)):
        return None
    return NormReader(fused, op, position, None)
