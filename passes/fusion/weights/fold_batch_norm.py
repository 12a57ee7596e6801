# SPDX-License-Identifier: MIT OR Apache-2.0
"""`fold-batch-norm`: scales and shifts by channel become part of a convolution's weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from xyntra.dialects.builder import Iterator, Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.vector_maps import map_channels
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.fusion.weights.affine_chains import (
    Chain,
    Expression,
    Vector,
    emit,
    follow,
    has_vector,
)
from xyntra.passes.fusion.weights.constant_values import Array, compute, constant_array
from xyntra.passes.fusion.weights.weights import (
    StaticValues,
    erase_with_unused,
    shape_of,
    starts_from_zero,
    tensor_bytes,
)
from xyntra.passes.registry import register_pass

__all__ = ["FoldBatchNorm"]

_GROUPS = "reassociation"


@register_pass
@dataclass(frozen=True)
class FoldBatchNorm:
    """Fold batch normalisation at inference into the weights of a convolution or contraction.

    Elementwise operations that follow it, that nothing else reads and that together are
    scale * x + shift with numbers for each channel that depend on weights alone, become one
    addition: the weights are multiplied by the scale, once, when the model is loaded. Any spelling
    of (x - mean) / sqrt(variance + epsilon) * gamma + beta is of this form, bias in front included.

    Every product of the sum is scaled instead of the sum, so a result differs by rounding only, as
    if the sum were taken in another order. Only f32 and f64 are folded, where weights are as wide
    as the sums. Constants are computed here, and left alone where the scale or the shift of a
    channel is not finite. Where that of weights is not, or a sum overflows, infinities or NaN are
    the result with and without folding, though not always the same of them.
    """

    name: ClassVar[str] = "fold-batch-norm"

    max_weight_bytes: int = 1 << 29
    """Most bytes of scaled weights in one module; they are kept beside the original ones."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced: list[ir.Operation] = []
        free_bytes = self.max_weight_bytes
        for block in function_blocks(module):
            static = StaticValues(block)
            for index, op, weight in _products(block, static):
                found = _foldable(op, weight, static)
                nbytes = tensor_bytes(op.operands[weight])
                if found is not None and nbytes <= free_bytes:
                    free_bytes -= nbytes
                    static.hoist([*found.chain.vectors, op.operands[weight]], index, op)
                    _fold(op, found)
                    replaced += reversed(found.chain.ops)
        erase_with_unused(replaced)


@dataclass(frozen=True)
class _Folding:
    """A scale and shift to be folded into operand `weight` of a contraction.

    Attributes:
        chain: the operations that are folded.
        start: what they start from: the product's result, or a view of it with fewer dimensions.
        channel: the dimension of `start` that has the channels.
        weight: number of the operand.
        axes: the weight's dimensions that together have the channels, in order.
        arrays: the chain's vectors as arrays of one dimension, where all are constants.
    """

    chain: Chain
    start: ir.Value
    channel: int
    weight: int
    axes: tuple[int, ...]
    arrays: list[Array] | None


def _products(block: ir.Block, static: StaticValues) -> list[tuple[int, ir.Operation, int]]:
    """Sums of products with a static factor: number of the operation, operation, and factor."""
    found = []
    for index, view in enumerate(block.operations):
        op = view.operation
        name = op.name
        if static.add(index, op, name) or name != "linalg.generic":
            continue
        if not static.reductions.has(op):
            continue
        operands = list(op.operands)
        if len(operands) == 3 and (operands[0] in static) != (operands[1] in static):
            found.append((index, op, 0 if operands[0] in static else 1))
    return [entry for entry in found if _sums_products(entry[1])]


def _sums_products(op: ir.Operation) -> bool:
    """Tell whether the body is `sum + x * y` in one floating-point type, from a sum of zero."""
    elements = {ir.RankedTensorType(value.type).element_type for value in op.operands}
    if len(elements) > 1 or str(elements.pop()) not in ("f32", "f64"):
        return False
    if not starts_from_zero(op):
        return False
    return is_multiply_add(op.regions[0].blocks[0])


def _foldable(op: ir.Operation, weight: int, static: StaticValues) -> _Folding | None:
    start, dimensions = op.results[0], None
    uses = list(start.uses)
    if len(uses) == 1 and uses[0].owner.operation.name == "tensor.collapse_shape":
        view = uses[0].owner.operation
        start = view.results[0]
        dimensions = [[entry.value for entry in group] for group in view.attributes[_GROUPS]]
    chain = follow(start, static)
    if chain.channel is None or not has_vector(chain.scale):
        return None
    maps = static.maps_of(op).maps
    axes = []
    for dimension in dimensions[chain.channel] if dimensions else [chain.channel]:
        loop = maps[2].results[dimension]
        places = [place for place, each in enumerate(maps[weight].results) if each == loop]
        if not isinstance(loop, ir.AffineDimExpr) or len(places) != 1:
            return None
        axes += places
    arrays = [array for array in map(constant_array, chain.vectors) if array is not None]
    if len(arrays) < len(chain.vectors):
        return _Folding(chain, start, chain.channel, weight, tuple(axes), None)
    arrays = [array.reshape(-1) for array in arrays]
    if not _are_finite(chain, arrays):
        return None
    return _Folding(chain, start, chain.channel, weight, tuple(axes), arrays)


def _are_finite(chain: Chain, arrays: list[Array]) -> bool:
    parts = [part for part in (chain.scale, chain.shift) if part is not None]
    dtype = arrays[0].dtype.type
    return all(bool(np.isfinite(compute(part, arrays, dtype)).all()) for part in parts)


def _fold(op: ir.Operation, found: _Folding) -> None:
    chain = found.chain
    last = chain.ops[-1]
    builder = TensorBuilder(ir.InsertionPoint(op), last.location)
    channels = ir.RankedTensorType(found.start.type).shape[found.channel]
    scale = _by_channel(builder, found, chain.scale, channels)
    op.operands[found.weight] = _scaled(builder, op.operands[found.weight], scale, found.axes)
    result = found.start
    if chain.shift is not None:
        shift = _by_channel(builder, found, chain.shift, channels)
        after = TensorBuilder(ir.InsertionPoint(last), last.location)
        result = map_channels(after, _add, Tensor.of(result), shift, axis=found.channel).value
    last.results[0].replace_all_uses_with(result)


def _add(x: Scalar, by: Scalar) -> Scalar:
    return x + by


def _scaled(
    builder: TensorBuilder, weight: ir.Value, scale: Tensor, axes: tuple[int, ...]
) -> ir.Value:
    """The weight times the scale, which varies along `axes`."""
    tensor, factors = Tensor.of(weight), constant_array(scale.value)
    extents = [tensor.shape[axis] for axis in axes]
    elements = None if factors is None else constant_array(weight)
    if elements is not None and factors is not None:
        spread = [n if axis in axes else 1 for axis, n in enumerate(tensor.shape)]
        order = sorted(range(len(axes)), key=axes.__getitem__)
        factors = factors.reshape(extents).transpose(order).reshape(spread)
        return builder.constant(elements * factors).value
    scale = builder.reshape(scale, extents)
    with builder.location:
        read = ir.AffineMap.get(tensor.rank, 0, [ir.AffineDimExpr.get(axis) for axis in axes])
    identity = builder.identity(tensor.rank)
    output = (builder.empty(tensor.shape, tensor.dtype), tensor.dtype, identity)
    inputs = [(tensor, identity), (scale, read)]
    loops: list[Iterator] = ["parallel"] * tensor.rank
    return builder.generic(inputs, [output], loops, lambda x, s, _: x * s)[0].value


def _by_channel(
    builder: TensorBuilder, found: _Folding, value: Expression, channels: int
) -> Tensor:
    """The value of an expression for every channel, as a vector."""
    chain = found.chain
    if found.arrays is not None:
        array = compute(value, found.arrays, np.dtype(Tensor.of(found.start).dtype).type)
        return builder.constant(np.array(np.broadcast_to(array, [channels])))
    if isinstance(value, Vector) and shape_of(chain.vectors[value.number]) == (channels,):
        return Tensor.of(chain.vectors[value.number])
    tensors = [Tensor.of(vector) for vector in chain.vectors]
    dtype = tensors[0].dtype
    with builder.location:
        inputs = [
            (tensor, _along(axis, tensor.rank))
            for tensor, axis in zip(tensors, chain.axes, strict=True)
        ]
    output = (builder.empty([channels], dtype), dtype, builder.identity(1))

    def body(*scalars: Scalar) -> Scalar:
        return emit(value, scalars[:-1], dtype)

    return builder.generic(inputs, [output], ["parallel"], body)[0]


def _along(axis: int | None, rank: int) -> ir.AffineMap:
    """Reads a tensor of one vector, along dimension `axis`, in a loop over its elements."""
    zero, loop = ir.AffineConstantExpr.get(0), ir.AffineDimExpr.get(0)
    return ir.AffineMap.get(1, 0, [loop if d == axis else zero for d in range(rank)])
