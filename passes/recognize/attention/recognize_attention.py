# SPDX-License-Identifier: MIT OR Apache-2.0
"""`recognize-attention`: softmax between two contractions becomes `xyntra.attention`."""

from __future__ import annotations

import operator
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from typing import ClassVar

from xyntra.dialects.attention import Access, Attention
from xyntra.dialects.builder import Tensor, TensorBuilder
from xyntra.dialects.dtypes import default_dtype
from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import Scalar
from xyntra.dialects.tensors.positions import Position, compose, to_map
from xyntra.passes.analysis.locations import fused_location
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.recognize.attention.match import AttentionMatch, match_attention
from xyntra.passes.recognize.attention.uses import (
    AttentionOutput,
    ends_only_in,
    follow_output,
    reductions_after,
)
from xyntra.passes.recognize.dead_operations import erase_unused
from xyntra.passes.recognize.matching.expressions import ExpressionGraph
from xyntra.passes.registry import register_pass


@register_pass
@dataclass(frozen=True)
class RecognizeAttention:
    """Rewrite scaled dot-product attention, however it is spelled, as one xyntra.attention.

    Reads queries, keys, values and masks through transposes, reshapes, slices and broadcasts, and
    writes the result in the layout that is wanted after it. Left alone where scores or
    probabilities are used elsewhere, or where a step is none of: scaling by constants, a boolean
    or an added mask, xyntra.softmax along the keys, NaN replaced by 0.
    """

    name: ClassVar[str] = "recognize-attention"

    def run(self, module: ir.Operation) -> None:
        """Rewrite every function of `module`."""
        with module.context:
            for block in list(_blocks(module)):
                _rewrite(block)


_SOURCES = frozenset({"arith.constant", "tensor.empty", "linalg.fill"})


def _blocks(module: ir.Operation) -> Iterator[ir.Block]:
    for view in module.regions[0].blocks[0].operations:
        if view.operation.name == "func.func":
            yield from view.operation.regions[0].blocks


def _rewrite(block: ir.Block) -> None:
    graph, reductions = ExpressionGraph(), Reductions()
    matches = []
    for view in block.operations:
        if view.name == "xyntra.softmax":
            match = _match(graph, view.operation, reductions)
            if match is not None:
                matches.append(match)
    erase_unused([_replace(*match) for match in matches])


def _match(
    graph: ExpressionGraph, softmax: ir.Operation, reductions: Reductions
) -> tuple[AttentionMatch, AttentionOutput] | None:
    products = list(reductions_after(softmax, reductions))
    if len(products) != 1:
        return None
    for widened in (True, False):
        match = match_attention(graph, softmax, products[0], widened=widened)
        if match is None:
            continue
        passed = [] if match.largest is None else [match.largest]
        if not ends_only_in(match.scores, products[0], reductions, passed=passed):
            continue
        # Also of what was widened the result has to have the type that it is computed in.
        element = ir.RankedTensorType(match.attention.query.value.type).element_type
        output = follow_output(products[0].results[0], match.attention, element)
        if output is not None:
            return match, output
    return None


def _replace(match: AttentionMatch, output: AttentionOutput) -> ir.Operation:
    """Create the attention; returns the operation whose result it takes over."""
    attention = replace(match.attention, written=output.positions)
    last: ir.Operation = output.value.owner.operation
    ip, location = ir.InsertionPoint(match.product), _location(attention, last)
    if match.inverted and attention.keep is not None:
        negated = _negated(TensorBuilder(ip, location), attention.keep)
        attention = replace(attention, keep=negated)
    if len(match.biases) > 1 or any(factor != 1.0 for _, factor in match.biases):
        total = _sum(TensorBuilder(ip, location), attention, match.biases)
        attention = replace(attention, bias=total)
    shape = ir.RankedTensorType(output.value.type).shape
    new = attention.create(shape, location, ip)
    output.value.replace_all_uses_with(new.results[0])
    return last


def _location(attention: Attention, last: ir.Operation) -> ir.Location:
    """Names every operation from what the attention reads to `last`, in order."""
    reads = {operand.value for operand in attention.operands}
    found: list[ir.Location] = []
    seen: set[ir.Value] = set(reads)
    waiting = [last]
    while waiting:
        op = waiting.pop()
        if op.name in _SOURCES:
            continue
        found.append(op.location)
        for value in op.operands:
            if value not in seen and not isinstance(value.owner, ir.Block):
                seen.add(value)
                waiting.append(value.owner.operation)
    return fused_location(found[::-1])


def _negated(b: TensorBuilder, mask: Access) -> Access:
    opposite = b.map(lambda x: ~x, Tensor(mask.value, "bool"), dtype="bool")
    return replace(mask, value=opposite.value)


def _sum(b: TensorBuilder, op: Attention, biases: Sequence[tuple[Access, float]]) -> Access:
    """All biases, times their factors, in one tensor with a dimension for every loop of theirs."""
    positions = [position for access, _ in biases for position in access.positions]
    loops = sorted(set().union(*(position.loops for position in positions)))
    shape = [op.sizes[loop] for loop in loops]
    places = {loop: Position.of_loop(d, op.sizes[loop]) for d, loop in enumerate(loops)}
    inputs = []
    for access, _ in biases:
        dtype = default_dtype(ir.RankedTensorType(access.value.type).element_type)
        read = compose(access.positions, places) or ()
        with b.location:
            inputs.append((Tensor(access.value, dtype), to_map(read, shape)))
    output = (b.empty(shape, "float32"), "float32", b.identity(len(shape)))

    def total(*elements: Scalar) -> Scalar:
        terms = [
            element.cast("float32") if factor == 1.0 else element.cast("float32") * factor
            for element, (_, factor) in zip(elements[:-1], biases, strict=True)
        ]
        return reduce(operator.add, terms)

    found = b.generic(inputs, [output], ["parallel"] * len(shape), total)[0]
    return Access(found.value, tuple(Position.of_loop(loop, op.sizes[loop]) for loop in loops))
