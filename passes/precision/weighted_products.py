# SPDX-License-Identifier: MIT OR Apache-2.0
"""Finds products of what a call computes with weights, which may be computed in integers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.multiply_add import is_multiply_add
from xyntra.passes.fusion.weights.weights import (
    is_known_at_load,
    starts_from_zero,
    static_reductions,
)
from xyntra.passes.recognize.dequantized import behind_steps
from xyntra.passes.recognize.integer_contractions import MOST_STEPS

__all__ = ["WeightedProduct", "is_integer_product", "weighted_products"]

_MIN_WEIGHTS = 1024


@dataclass(frozen=True)
class WeightedProduct:
    """A contraction or convolution of which one factor is known when the model is loaded.

    Attributes:
        op: the linalg.generic.
        place: number of the operand that a call computes.
        channels: dimensions of the weight along which its scale may vary.
        source: what the other operand was before reshapes and padding with zeros.
        steps: these, in order.
        reason: why it stays in f32, whatever its values are; "" where nothing speaks against it.
        rows: dimensions of the operand that a call computes over which it does not sum, so that the
            scale may vary along them; empty for convolutions, whose sums overlap.
    """

    op: ir.Operation
    place: int
    channels: tuple[int, ...]
    source: ir.Value
    steps: tuple[ir.Operation, ...]
    reason: str
    rows: tuple[int, ...] = ()

    @property
    def weight(self) -> ir.Value:
        """The factor that is known at load."""
        return self.op.operands[1 - self.place]


def weighted_products(block: ir.Block, *, widened: bool = False) -> Iterator[WeightedProduct]:
    """Yield the products of `block`, in order.

    Args:
        block: linalg on tensors.
        widened: those of f16 and bf16 that sum in f32, instead of those of f32.
    """
    for op, static in static_reductions(block):
        if not _is_product(op, widened=widened):
            continue
        known = [is_known_at_load(value, static, 0) for value in (op.operands[0], op.operands[1])]
        if all(known):
            continue
        source, steps = behind_steps(op.operands[0])
        if not any(known):
            reason = "both of its factors are computed in a call"
            yield WeightedProduct(op, 0, (), source, tuple(steps), reason)
            continue
        place = known.index(False)
        source, steps = behind_steps(op.operands[place])
        channels, reason = _channels(op, place)
        rows = _rows(op, place)
        yield WeightedProduct(op, place, channels, source, tuple(steps), reason, rows)


def is_integer_product(op: ir.Operation) -> bool:
    """Tell whether `op` sums products of integers, as quantized models do."""
    if op.name != "linalg.generic" or len(op.operands) < 3:
        return False
    names = [view.name for view in op.regions[0].blocks[0].operations]
    return "arith.muli" in names and names[-2:] == ["arith.addi", "linalg.yield"]


def _is_product(op: ir.Operation, *, widened: bool) -> bool:
    if list(op.attributes["operandSegmentSizes"]) != [2, 1]:
        return False
    body = op.regions[0].blocks[0]
    kinds = [str(argument.type) for argument in body.arguments]
    factors = ("f16", "bf16") if widened else ("f32",)
    if kinds[0] not in factors or kinds[1:] != [kinds[0], "f32"]:
        return False
    return is_multiply_add(body, widened=widened) and starts_from_zero(op)


def _channels(op: ir.Operation, place: int) -> tuple[tuple[int, ...], str]:
    """Return the dimensions of the weight that have scales of their own, or why it stays."""
    maps = [ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"]]
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    weight = ir.RankedTensorType(op.operands[1 - place].type).shape
    if not prod(weight) or not prod(ir.RankedTensorType(op.results[0].type).shape):
        return (), "it has no elements"
    places = [_dim(expression) for expression in maps[1 - place].results]
    others = {_dim(expression) for expression in maps[place].results}
    channels = tuple(i for i, loop in enumerate(places) if loop >= 0 and not kinds[loop])
    columns = prod(weight[i] for i in channels if places[i] not in others)
    if columns < 2:
        return channels, "it has one column, or one for each channel, which 8 bits make no faster"
    if prod(weight) < _MIN_WEIGHTS:
        return channels, "it is small"
    if any(not kinds[loop] and not _is_written(maps[2], loop) for loop in range(len(kinds))):
        return channels, "its result is no permutation of its loops"
    if prod(weight) // prod(weight[i] for i in channels) > MOST_STEPS:
        return channels, f"its sums have more than {MOST_STEPS:,} steps"
    return channels, ""


def _rows(op: ir.Operation, place: int) -> tuple[int, ...]:
    """Return the dimensions of a factor that move with its result; none if others do as well."""
    map_ = ir.AffineMapAttr(op.attributes["indexing_maps"][place]).value
    kinds = ["reduction" in str(kind) for kind in op.attributes["iterator_types"]]
    loops = [_dim(expression) for expression in map_.results]
    if -1 in loops or len(set(loops)) < len(loops):
        return ()
    return tuple(number for number, loop in enumerate(loops) if not kinds[loop])


def _is_written(map_: ir.AffineMap, loop: int) -> bool:
    return any(_dim(expression) == loop for expression in map_.results)


def _dim(expression: ir.AffineExpr) -> int:
    return int(expression.position) if isinstance(expression, ir.AffineDimExpr) else -1
