# SPDX-License-Identifier: MIT OR Apache-2.0
"""`pack-weights`: products with weights of int4 or uint4 read them packed, two in a byte."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.narrow import convert
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.packed_product import PackedWeight
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.fusion.weights.weights import StaticValues, static_reductions
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.matrix_products import MatrixProduct
from xyntra.passes.recognize.packed_weights import body_form
from xyntra.passes.registry import register_pass

__all__ = ["PackWeights"]

_LEAST = 16
"""Steps of a block, of which there are a power of two at least."""
_MIDDLE = 8


@register_pass
@dataclass(frozen=True)
class PackWeights:
    """Give products whose weight is dequantized from 4 bits the body that dequantizes.

    The weight is what DequantizeLinear has made of a parameter of int4 or uint4, with scales for
    blocks of steps. Its integers are packed along the steps when the model is
    loaded. Products with weights that are dequantized otherwise stay as they are.
    """

    name: ClassVar[str] = "pack-weights"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            known: dict[tuple[ir.Value, bool], PackedWeight | None] = {}
            for op, static in list(static_reductions(block)):
                product = _product_of(op, static)
                found = None if product is None else _Dequantization.of(product)
                if product is None or found is None:
                    continue
                with op.context, op.location:
                    b = TensorBuilder(ir.InsertionPoint(op), op.location)
                    key = product.weight, product.turned
                    if key not in known:
                        known[key] = found.packed(b)
                    weight = known[key]
                    if weight is None:
                        continue
                    product.replace(b, weight)
                replaced.append(op)
        erase_unused(replaced)


def _product_of(op: ir.Operation, static: StaticValues) -> MatrixProduct | None:
    """Return `op` where it is a product of what a call computes with a matrix known at load."""
    operands = list(op.operands)
    known = [value in static for value in operands[:2]]
    if len(operands) != 3 or sum(known) != 1:
        return None
    place = known.index(True)
    # Most weights are arguments: nothing has dequantized them.
    is_computed = owner_of(operands[place], "linalg.generic") is not None
    return MatrixProduct.of(op, place) if is_computed else None


@dataclass(frozen=True)
class _Parameter:
    """A scale or zero point: a tensor that holds one for each block of steps and each column.

    Attributes:
        values: [N, blocks], or [blocks, N] where the weight is turned.
        block: steps of a block.
    """

    values: Tensor
    block: int


@dataclass(frozen=True)
class _Dequantization:
    """What a weight was dequantized from.

    Attributes:
        integers: [N, K], or turned [K, N], a byte for each.
        scale: of f32, f16 or bf16.
        zero: of the type of the integers; None for 0.
        turned: whether dimension 0 has the steps.
    """

    integers: Tensor
    scale: _Parameter
    zero: _Parameter | None
    turned: bool

    @classmethod
    def of(cls, product: MatrixProduct) -> _Dequantization | None:
        """Return that of the weight of `product`; None where it is something else."""
        op = owner_of(product.weight, "linalg.generic")
        if op is None or len(op.results) != 1 or len(op.operands) not in (3, 4):
            return None
        operands = list(op.operands)[:-1]
        if str(ir.RankedTensorType(operands[0].type).element_type) != "i8":
            return None
        for dtype in ("int4", "uint4"):
            tensors = [Tensor(operands[0], dtype), Tensor.of(operands[1])]
            tensors += [Tensor(each, dtype) for each in operands[2:]]
            if not _dequantizes(op, tensors):
                continue
            found = [_parameter(each, product.turned) for each in tensors[1:]]
            first = found[0]
            if first is None or not all(each and each.block == first.block for each in found):
                return None
            return cls(tensors[0], first, found[1] if found[1:] else None, product.turned)
        return None

    def packed(self, b: TensorBuilder) -> PackedWeight | None:
        """Return the weight with two integers in a byte; None where blocks have no usual size."""
        is_signed = self.integers.dtype == "int4"
        integers = self._by_columns(b, self.integers)
        columns, steps = integers.shape
        block = self.scale.block
        if block < _LEAST or block & (block - 1):
            return None
        blocks = -(-steps // block)
        integers = b.pad(integers, [0, 0], [0, blocks * block - steps], 0)
        flip = _MIDDLE if is_signed else 0  # of two's complement, to count from the least one
        pairs = b.reshape(integers, [columns, blocks, block // 2, 2])
        with b.location:
            n, i, byte = (ir.AffineDimExpr.get(d) for d in range(3))
            places = [
                ir.AffineMap.get(3, 0, [n, i, byte, ir.AffineConstantExpr.get(half)])
                for half in (0, 1)
            ]
        shape = [columns, blocks, block // 2]
        bytes_ = Tensor(pairs.value, "uint8")
        packed = b.generic(
            [(bytes_, places[0]), (bytes_, places[1])],
            [(b.empty(shape, "uint8"), "uint8", b.identity(3))],
            ["parallel"] * 3,
            lambda low, high, _: ((low & 15) ^ flip) | (((high & 15) ^ flip) << 4),
        )[0]
        zeros: Tensor | int = _MIDDLE
        if self.zero is None and not is_signed:
            zeros = b.constant(np.zeros([columns, blocks], np.uint8))
        elif self.zero is not None:
            raw = self._by_columns(b, self.zero.values)
            raw = Tensor(raw.value, "uint8")
            zeros = b.map(lambda value: (value & 15) ^ flip, raw, dtype="uint8")
        return PackedWeight(packed, self._by_columns(b, self.scale.values), zeros, 4, steps)

    def _by_columns(self, b: TensorBuilder, tensor: Tensor) -> Tensor:
        return b.transpose(tensor, [1, 0]) if self.turned else tensor


def _dequantizes(op: ir.Operation, tensors: list[Tensor]) -> bool:
    """Tell whether `op` is what DequantizeLinear makes of these, element by element."""
    narrow = tensors[0].dtype
    # Canonicalization converts bytes to floats without a wider integer in between.
    return any(
        _is_built_so(op, tensors, wide) for wide in ("int32", narrow.replace("int4", "int8"))
    )


def _is_built_so(op: ir.Operation, tensors: list[Tensor], wide: str) -> bool:
    dtype = default_dtype(ir.RankedTensorType(op.results[0].type).element_type)

    def body(value: Scalar, scale: Scalar, zero: Scalar | None = None) -> Scalar:
        centred = convert(value, wide)
        if zero is not None:
            centred = centred - convert(zero, wide)
        return (centred.cast("float32") * scale.cast("float32")).cast(dtype)

    with op.context, op.location:
        b = TensorBuilder(ir.InsertionPoint(op), op.location)
        built = b.map(body, *tensors, dtype=dtype).value.owner.operation
        same = all(
            built.attributes[name] == op.attributes[name]
            for name in ("indexing_maps", "iterator_types")
        )
        form = body_form(op.regions[0].blocks[0])
        same = same and body_form(built.regions[0].blocks[0]) == form
        erase_unused([built])
    return same


def _parameter(tensor: Tensor, turned: bool) -> _Parameter | None:
    """Return the values that a scale or zero point in the shape of the weight repeats."""
    steps = 0 if turned else 1
    if tensor.rank != 2:
        return None
    op = owner_of(tensor.value, "linalg.generic")
    if op is None or len(op.operands) != 2:
        return None
    body = op.regions[0].blocks[0]
    first = body.operations[0].operation
    if first.name != "linalg.yield" or first.operands[0] != body.arguments[0]:
        return None
    source, read = op.operands[0], ir.AffineMapAttr(op.attributes["indexing_maps"][0]).value
    shape = ir.RankedTensorType(source.type).shape
    if len(shape) != 2 or prod(tensor.shape) == 0:
        return None
    block = -(-tensor.shape[steps] // shape[steps])
    with op.context:
        dims = [ir.AffineDimExpr.get(0), ir.AffineDimExpr.get(1)]
        for size in (block, 1 << (block - 1).bit_length()):
            wanted = list(dims)
            wanted[steps] = ir.AffineExpr.get_floor_div(dims[steps], size)
            if read == ir.AffineMap.get(2, 0, wanted):
                return _Parameter(Tensor(source, tensor.dtype), size)
    return None
