# SPDX-License-Identifier: MIT OR Apache-2.0
"""`order-weights`: weights of convolutions are stored in the order in which images are read."""

from __future__ import annotations

from dataclasses import dataclass
from math import gcd, prod
from typing import ClassVar, Literal

from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.functions import function_blocks
from xyntra.passes.fusion.weights.weights import (
    StaticValues,
    erase_with_unused,
    is_known_at_load,
    static_reductions,
)
from xyntra.passes.registry import register_pass

__all__ = ["OrderWeights"]

_VECTOR = 4  # elements of f32 that a thread reads at once
_NARROW_BYTES = {"f16": 2, "bf16": 2}
_LINE = 128  # bytes of a row of a tile in shared memory, which should lie in one line of the cache
# Weights that are ordered in every call: for so many products, and with a result so much larger.
_MANY_PRODUCTS, _LITTLE = 1 << 30, 8
_FEW = {"f32": 16, "f16": 4, "bf16": 4}
"""Channels of a group, and outputs, up to which threads compute all of several groups."""


@register_pass
@dataclass(frozen=True)
class OrderWeights:
    """Store weights in the order in which tiles of a contraction are read.

    Tensor cores want what is summed over as neighbours in both factors: where an image has its
    channels innermost, weights get them innermost too. Matrix products, which sum over one
    dimension, stay as they are, but for those of bytes, which tensor cores cannot transpose, and
    for those of 16 bits whose rows of columns start between lines of the cache more than rows of
    steps would (1048 or 50257 columns): a copy of a tile touches twice as many lines, or single
    elements. Where threads multiply in exact f32, they take neighbouring columns of one step:
    weights of f32 get those innermost. Convolutions of each channel by itself take neighbouring
    channels, where the result has them innermost, and those of groups of few channels neighbouring
    outputs of neighbouring groups. It is done once, when the model is loaded; weights of 16 bits
    that a call is given are ordered in every call, if their convolution takes far longer than that.
    """

    name: ClassVar[str] = "order-weights"

    precision: Literal["f32", "tf32"] = "f32"
    """What contractions of f32 compute in: those of tf32 are for tensor cores."""

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        replaced: list[ir.Operation] = []
        for block in function_blocks(module):
            ordered: dict[tuple[ir.Value, tuple[int, ...]], ir.Value] = {}
            for op, static in static_reductions(block):
                weights = _weights(op, static)
                order = None if weights is None else self._order(weights)
                if weights is not None and order is not None:
                    replaced.append(_with_order(weights, order, ordered))
        erase_with_unused(replaced)

    def _order(self, weights: _Weights) -> tuple[int, ...] | None:
        """Return which dimension goes where; None where they stay."""
        element = str(weights.type.element_type)
        if weights.inner in weights.batch:
            order = (*(i for i in range(weights.type.rank) if i != weights.inner), weights.inner)
            return None if order == tuple(sorted(order)) else order
        if weights.has_small_groups:
            summed = () if weights.inner in weights.columns else (weights.inner,)
            order = (*weights.taps, *summed, *weights.batch, *weights.columns)
            return None if order == tuple(sorted(order)) else order
        if weights.inner in weights.columns:
            return None
        is_exact = element == "f32" and self.precision == "f32"
        has_taps = any(weights.type.shape[i] > 1 for i in weights.taps)
        if is_exact and weights.columns and weights.has_whole_vectors:
            order = (*weights.batch, *weights.taps, weights.inner, *weights.columns)
        elif not has_taps and element != "i8" and not weights.has_ragged_columns:
            return None
        else:
            order = (*weights.batch, *weights.columns, *weights.taps, weights.inner)
        return None if order == tuple(sorted(order)) else order


@dataclass(frozen=True)
class _Weights:
    """The weights of a contraction, and what each of their dimensions is to it.

    Attributes:
        op: the contraction.
        number: of the operand.
        batch: dimensions whose loops move the other factor as well, and are not summed over.
        columns: those whose loops move the weights alone, in the order of the result's.
        taps: those that are summed over, but for the innermost one of the other factor.
        inner: that one; where no channels are summed over, the dimension whose loop walks through
            the result, one of `batch`, or of `columns` where a channel has several outputs.
    """

    op: ir.Operation
    number: int
    batch: tuple[int, ...]
    columns: tuple[int, ...]
    taps: tuple[int, ...]
    inner: int

    @property
    def value(self) -> ir.Value:
        """The operand."""
        return self.op.operands[self.number]

    @property
    def type(self) -> ir.RankedTensorType:
        """The type of the operand."""
        return ir.RankedTensorType(self.value.type)

    @property
    def has_small_groups(self) -> bool:
        """Tell whether they are those of groups of few channels, with taps."""
        shape, limit = self.type.shape, _FEW.get(str(self.type.element_type), 0)
        has_taps = any(shape[i] > 1 for i in self.taps)
        few = shape[self.inner] <= limit and prod(shape[i] for i in self.columns) <= limit
        return bool(self.batch) and self.inner not in self.batch and has_taps and few

    @property
    def has_whole_vectors(self) -> bool:
        """Tell whether rows of columns start where threads read vectors."""
        return int(self.type.shape[self.columns[-1]]) % _VECTOR == 0

    @property
    def has_ragged_columns(self) -> bool:
        """Tell whether rows of columns, of 16 bits, fit lines of the cache worse than steps do."""
        item = _NARROW_BYTES.get(str(self.type.element_type))
        if item is None or len(self.columns) != 1 or self.columns[0] < self.inner:
            return False
        columns, steps = (self.type.shape[i] for i in (self.columns[0], self.inner))
        return gcd(steps * item, _LINE) > gcd(columns * item, _LINE)


def _weights(op: ir.Operation, static: StaticValues) -> _Weights | None:
    """Return the weights of `op` that should have an order; None where it has none."""
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return None
    known = [number for number in (0, 1) if _is_known(op.operands[number], static)]
    if len(known) == 1:
        return _factor(op, known[0])
    given = None if known else _factor(op, 1)
    return given if given is not None and _is_small(given) else None


def _is_small(weights: _Weights) -> bool:
    """Tell whether it takes little to order weights of a convolution, beside what it gains."""
    result, shape = ir.RankedTensorType(weights.op.results[0].type), weights.type.shape
    if str(weights.type.element_type) not in _NARROW_BYTES or weights.inner in weights.batch:
        return False
    if weights.has_small_groups or not any(shape[i] > 1 for i in weights.taps):
        return False
    summed: int = prod(shape[i] for i in (*weights.taps, weights.inner))
    size: int = prod(result.shape)
    return size * summed >= _MANY_PRODUCTS and _LITTLE * prod(shape) <= size


def _factor(op: ir.Operation, number: int) -> _Weights | None:
    """Return a factor as weights; None where it is no such, or the other one no image."""
    maps = [list(ir.AffineMapAttr(each).value.results) for each in op.attributes["indexing_maps"]]
    kinds = enumerate(op.attributes["iterator_types"])
    sums = [loop for loop, kind in kinds if "reduction" in str(kind)]
    loops = [_loop(each) for each in maps[number]]
    image = maps[1 - number]
    inner = _loop(image[-1]) if image else None
    if inner not in sums and maps[2]:
        inner = _loop(maps[2][-1])  # of each channel by itself
    if None in loops or inner not in loops:
        return None
    moved = [any(_moves(each, loop) for each in image) for loop in loops]
    summed = [loop in sums for loop in loops]
    places = range(len(loops))
    is_depthwise = moved[loops.index(inner)] or any(
        moves and not sums_over for moves, sums_over in zip(moved, summed, strict=True)
    )
    if inner not in sums and not (is_depthwise and any(summed)):
        return None
    written = [_loop(each) for each in maps[2]]
    columns = [i for i in places if not summed[i] and not moved[i]]
    if any(loops[i] not in written for i in columns):
        return None
    return _Weights(
        op,
        number,
        tuple(i for i in places if not summed[i] and moved[i]),
        tuple(sorted(columns, key=lambda i: written.index(loops[i]))),
        tuple(i for i in places if summed[i] and loops[i] != inner),
        loops.index(inner),
    )


def _is_known(value: ir.Value, static: StaticValues) -> bool:
    """Tell whether `value` is a weight, or bytes that are made of several that were merged."""
    if str(ir.RankedTensorType(value.type).element_type) == "i8":
        return is_known_at_load(value, static)
    return value in static


def _loop(expression: ir.AffineExpr) -> int | None:
    if not isinstance(expression, ir.AffineDimExpr):
        return None
    return int(expression.position)


def _moves(expression: ir.AffineExpr, loop: int | None) -> bool:
    """Tell whether a place in a tensor depends on a loop."""
    if isinstance(expression, ir.AffineBinaryExpr):
        return _moves(expression.lhs, loop) or _moves(expression.rhs, loop)
    return _loop(expression) == loop


def _with_order(
    weights: _Weights,
    order: tuple[int, ...],
    ordered: dict[tuple[ir.Value, tuple[int, ...]], ir.Value],
) -> ir.Operation:
    """Build a contraction anew on weights whose dimension `i` was `order[i]`; returns the old one.

    What several contractions read is brought in order once; `ordered` has what was.
    """
    op, key = weights.op, (weights.value, order)
    if key not in ordered:
        builder = TensorBuilder(ir.InsertionPoint(op), op.location)
        dtype = default_dtype(weights.type.element_type)
        ordered[key] = builder.transpose(Tensor(weights.value, dtype), order).value
    with ir.InsertionPoint(op):
        clone = op.clone().operation
    clone.operands[weights.number] = ordered[key]
    maps = list(op.attributes["indexing_maps"])
    read = ir.AffineMapAttr(maps[weights.number]).value
    results = [read.results[position] for position in order]
    with op.context:
        moved = ir.AffineMap.get(read.n_dims, 0, results)
        maps[weights.number] = ir.AffineMapAttr.get(moved)
        clone.attributes["indexing_maps"] = ir.ArrayAttr.get(maps)
    op.results[0].replace_all_uses_with(clone.results[0])
    return op
