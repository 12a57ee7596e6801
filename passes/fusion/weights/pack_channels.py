# SPDX-License-Identifier: MIT OR Apache-2.0
"""`pack-channels`: images of few channels are stored with those innermost, for tensor cores."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import ClassVar

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar, constant
from xyntra.passes.analysis.conversions import converts
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.analysis.owners import owner_of
from xyntra.passes.fusion.weights.weights import (
    StaticValues,
    erase_with_unused,
    starts_from_zero,
    static_reductions,
)
from xyntra.passes.registry import register_pass

__all__ = ["PackChannels"]

_PACKED = (4, 8)  # channels
_ROW_BYTES = 16  # that pixels, rows of pixels, and rows of taps are multiples of
_ITEM_BYTES = 2
_NARROW = ("f16", "bf16")


@register_pass
@dataclass(frozen=True)
class PackChannels:
    """Store images of up to four or eight channels with as many innermost, padded.

    The taps in one row of the filter then are contiguous, with all their channels, as a matrix
    product wants its steps. The image is brought into this form by one kernel, with the padding
    around it, and the weights once, when the model is loaded. Channels that are added are zero in
    both factors.
    """

    name: ClassVar[str] = "pack-channels"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced = []
        for block in function_blocks(module):
            for op, static in static_reductions(block):
                found = _packing(op, static)
                if found is not None:
                    _pack(op, found)
                    replaced.append(op)
        erase_with_unused(replaced)


@dataclass(frozen=True)
class _Packing:
    """A packing of the factors of a convolution.

    Attributes:
        image: number of the operand.
        channel: dimension of the image that has the channels.
        weight: dimension of the weights that has them.
        width: dimension of the image along which taps become contiguous.
        tap: dimension of the weights along which they do.
        channels: with those that are added.
    """

    image: int
    channel: int
    weight: int
    width: int
    tap: int
    channels: int


def _packing(op: ir.Operation, static: StaticValues) -> _Packing | None:
    """Return how `op` is packed; None where it is no convolution of few channels."""
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return None
    images = [number for number in (0, 1) if op.operands[number] not in static]
    if len(images) != 1 or not _sums_products(op):
        return None
    image = images[0]
    element = str(ir.RankedTensorType(op.operands[image].type).element_type)
    if element not in _NARROW or op.operands[image].type.element_type != (
        op.operands[1 - image].type.element_type
    ):
        return None
    maps = [ir.AffineMapAttr(each).value.results for each in op.attributes["indexing_maps"]]
    read, weights, written = list(maps[image]), list(maps[1 - image]), list(maps[2])
    loops = [_loop(each) for each in weights]
    sums = _sums(op)
    shape = op.operands[image].type.shape
    channels = [
        place
        for place, each in enumerate(read)
        if _loop(each) in sums and _loop(each) in loops and _loop(each) is not None
    ]
    if None in loops or len(channels) != 1 or len(read) < 3 or shape[channels[0]] >= _PACKED[-1]:
        return None
    if not written or _loop(written[-1]) not in loops:
        return None  # threads write neighbouring channels of the result
    if any(each not in sums and each in map(_loop, read) for each in loops):
        return None  # groups of channels, of which tiles of the image serve several
    width = max(place for place in range(len(read)) if place != channels[0])
    window = _window(read[width], sums)
    if window is None or window[2] not in loops:
        return None
    step, spread, tap = window
    wide = [
        each
        for each in _PACKED
        if shape[channels[0]] <= each and step * each * _ITEM_BYTES % _ROW_BYTES == 0
    ]
    if not wide or spread != 1:
        return None
    weight = loops.index(_loop(read[channels[0]]))
    return _Packing(image, channels[0], weight, width, loops.index(tap), wide[0])


def _sums(op: ir.Operation) -> list[int]:
    kinds = enumerate(op.attributes["iterator_types"])
    return [number for number, kind in kinds if "reduction" in str(kind)]


def _sums_products(op: ir.Operation) -> bool:
    """Tell whether `op` adds products of its operands, from zero on."""
    if not starts_from_zero(op):
        return False
    return is_multiply_add(op.regions[0].blocks[0], widened=True)


def _loop(expression: ir.AffineExpr) -> int | None:
    if not isinstance(expression, ir.AffineDimExpr):
        return None
    return int(expression.position)


def _window(expression: ir.AffineExpr, sums: Sequence[int]) -> tuple[int, int, int] | None:
    """Return step, spread and loop of the taps in `output * step + tap * spread`."""
    if not isinstance(expression, ir.AffineAddExpr):
        return None
    terms = [_term(each) for each in (expression.lhs, expression.rhs)]
    known = [each for each in terms if each is not None]
    taps = [each for each in known if each[0] in sums]
    outputs = [each for each in known if each[0] not in sums]
    if len(taps) != 1 or len(outputs) != 1:
        return None
    return outputs[0][1], taps[0][1], taps[0][0]


def _term(expression: ir.AffineExpr) -> tuple[int, int] | None:
    """Return loop and factor of a loop, or of a loop times a number."""
    if isinstance(expression, ir.AffineMulExpr):
        loop, factor = _loop(expression.lhs), expression.rhs
        if loop is None or not isinstance(factor, ir.AffineConstantExpr):
            return None
        return loop, int(factor.value)
    loop = _loop(expression)
    return None if loop is None else (loop, 1)


def _pack(op: ir.Operation, packing: _Packing) -> None:
    """Build `op` anew on packed factors, in place of its result."""
    builder = TensorBuilder(ir.InsertionPoint(op), op.location)
    factors = [Tensor.of(value) for value in list(op.operands)[:2]]
    image = _packed_image(builder, factors[packing.image], packing)
    weights = _packed_weights(builder, factors[1 - packing.image], packing)
    with ir.InsertionPoint(op):
        clone = op.clone().operation
    maps = list(op.attributes["indexing_maps"])
    for number, tensor, order in (
        (packing.image, image, _last(factors[packing.image], packing.channel)),
        (
            1 - packing.image,
            weights,
            _last(factors[1 - packing.image], packing.tap, packing.weight),
        ),
    ):
        clone.operands[number] = tensor.value
        read = ir.AffineMapAttr(maps[number]).value
        with op.context:
            moved = ir.AffineMap.get(read.n_dims, 0, [read.results[i] for i in order])
            maps[number] = ir.AffineMapAttr.get(moved)
    clone.attributes["indexing_maps"] = ir.ArrayAttr.get(maps, op.context)
    op.results[0].replace_all_uses_with(clone.results[0])


def _last(tensor: Tensor, *dimensions: int) -> list[int]:
    """Return the dimensions in order, but `dimensions` last."""
    return [i for i in range(tensor.rank) if i not in dimensions] + list(dimensions)


def _packed_image(builder: TensorBuilder, image: Tensor, packing: _Packing) -> Tensor:
    """Return the image with its padding, channels last and rows of whole vectors."""
    order = _last(image, packing.channel)
    shape = [image.shape[i] for i in order]
    shape[order.index(packing.width)] += _missing(packing, shape[order.index(packing.width)])
    shape[-1] = packing.channels
    source, low = _unpadded(_unrounded(image))
    source = _unrounded(source)

    def body() -> Scalar:
        places: list[Scalar] = [constant(0, "index")] * image.rank
        inside = []
        for place, dimension in enumerate(order):
            at = builder.index(place) - low[dimension]
            size = source.shape[dimension]
            if low[dimension]:
                inside.append(at >= 0)
            if low[dimension] or shape[place] > size:
                inside.append(at < size)
                at = at.maximum(0).minimum(size - 1)
            places[dimension] = at
        value = builder.extract(source, places).cast(image.dtype)
        if not inside:
            return value
        return reduce(lambda x, y: x & y, inside).select(value, 0)

    return builder.map(body, dtype=image.dtype, shape=shape)


def _unpadded(image: Tensor) -> tuple[Tensor, list[int]]:
    """Return what `image` pads with zeros, and how many are in front in every dimension."""
    nothing = image, [0] * image.rank
    if isinstance(image.value.owner, ir.Block) or image.value.owner.name != "tensor.pad":
        return nothing
    pad = image.value.owner.operation
    low = list(ir.DenseI64ArrayAttr(pad.attributes["static_low"]))
    high = list(ir.DenseI64ArrayAttr(pad.attributes["static_high"]))
    filler = list(pad.regions[0].blocks[0].operations)[-1].operation.operands[0]
    known = None if isinstance(filler.owner, ir.Block) else filler.owner.operation
    is_zero = (
        known is not None
        and known.name == "arith.constant"
        and isinstance(known.attributes["value"], ir.FloatAttr)
        and known.attributes["value"].value == 0.0
    )
    if not is_zero or min([*low, *high]) < 0:
        return nothing
    return Tensor.of(pad.operands[0]), low


def _unrounded(image: Tensor) -> Tensor:
    """Return the f32 tensor that `image` is rounded from, so that one kernel rounds and packs."""
    op = owner_of(image.value, "linalg.generic")
    if op is None or not converts(op, "arith.truncf"):
        return image
    return Tensor.of(op.operands[0])


def _missing(packing: _Packing, size: int) -> int:
    """Return how many pixels or taps are behind `size` of them in rows of whole vectors."""
    pixels = _ROW_BYTES // _ITEM_BYTES // packing.channels
    return -size % pixels


def _packed_weights(builder: TensorBuilder, weights: Tensor, packing: _Packing) -> Tensor:
    """Return the weights with channels last, in rows of whole vectors."""
    moved = builder.transpose(weights, _last(weights, packing.tap, packing.weight))
    more = [0] * moved.rank
    more[-2] = _missing(packing, moved.shape[-2])
    more[-1] = packing.channels - moved.shape[-1]
    padded = builder.pad(moved, [0] * moved.rank, more, 0)
    sizes = [*moved.shape[:-1], packing.channels]
    return builder.slice(padded, [0] * moved.rank, sizes, [1] * moved.rank)
