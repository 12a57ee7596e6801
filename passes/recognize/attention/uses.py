# SPDX-License-Identifier: MIT OR Apache-2.0
"""Follows the uses of an attention's parts, to the layout in which its result is wanted."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

from xyntra.dialects.attention import Attention
from xyntra.dialects.attention_layout import QUERY, VALUE_SIZE
from xyntra.dialects.mlir import ir
from xyntra.dialects.tensors.positions import Position
from xyntra.passes.analysis.reductions import Reductions
from xyntra.passes.analysis.views import RESHAPES, TENSOR_VIEWS
from xyntra.passes.recognize.attention.places import are_whole, linear, unflatten

__all__ = ["AttentionOutput", "ends_only_in", "follow_output", "reductions_after"]

_BETWEEN = TENSOR_VIEWS | {"xyntra.softmax"}
_MOST_BETWEEN = 32


def reductions_after(softmax: ir.Operation, reductions: Reductions) -> Iterator[ir.Operation]:
    """Yield the operations with reductions that read probabilities, also through other steps.

    Yields twice, which no caller accepts, where probabilities go elsewhere.
    """
    below = _users_below(softmax, reductions)
    for _, user in zip(range(_MOST_BETWEEN), below, strict=False):
        if not _is_step(user, reductions):
            yield user
            if user.name != "linalg.generic":
                yield user


def ends_only_in(
    first: ir.Operation,
    last: ir.Operation,
    reductions: Reductions,
    *,
    passed: Collection[ir.Operation] = (),
) -> bool:
    """Tell whether `last` and what leads to it are all that uses `first`, also in between.

    Args:
        first: where to begin.
        last: where to end.
        reductions: tells which operations are no steps.
        passed: reductions that are steps nevertheless.
    """
    for number, user in enumerate(_users_below(first, reductions, passed)):
        is_step = user in passed or _is_step(user, reductions)
        if number > _MOST_BETWEEN or not (is_step or user == last):
            return False
    return True


def _users_below(
    first: ir.Operation, reductions: Reductions, passed: Collection[ir.Operation] = ()
) -> Iterator[ir.Operation]:
    """Yield the users of `first` and of the steps among them, each once."""
    waiting, seen = [first], {first}
    while waiting:
        for use in waiting.pop().results[0].uses:
            user = use.owner.operation
            if user in seen:
                continue
            seen.add(user)
            yield user
            if user in passed or _is_step(user, reductions):
                waiting.append(user)


def _is_step(op: ir.Operation, reductions: Reductions) -> bool:
    return op.name in _BETWEEN or (op.name == "linalg.generic" and not reductions.has(op))


@dataclass(frozen=True)
class AttentionOutput:
    """The value that an attention computes, and where each element is written."""

    value: ir.Value
    positions: tuple[Position, ...]


def follow_output(
    value: ir.Value, attention: Attention, element: ir.Type
) -> AttentionOutput | None:
    """Follow a result down through views as far as they are all that uses it.

    Args:
        value: the contraction's result.
        attention: tells how it is written.
        element: type that the result must have in the end; conversions to it are followed too.
    """
    whole = [(loop, attention.sizes[loop]) for loop in (QUERY, VALUE_SIZE)]
    current: AttentionOutput | None = AttentionOutput(value, attention.written)
    found = None
    while current is not None and are_whole(current.positions, whole):
        if current.value.type.element_type == element:
            found = current
        current = _following(current)
    return found


def _following(output: AttentionOutput) -> AttentionOutput | None:
    uses = list(output.value.uses)
    if len(uses) != 1:
        return None
    op = uses[0].owner.operation
    if op.name in RESHAPES:
        shape = ir.RankedTensorType(op.results[0].type).shape
        old = ir.RankedTensorType(output.value.type).shape
        positions = unflatten(linear(output.positions, old), shape)
        return None if positions is None else AttentionOutput(op.results[0], positions)
    return _moved(output, op) if op.name == "linalg.generic" else None


def _moved(output: AttentionOutput, op: ir.Operation) -> AttentionOutput | None:
    """Through an operation that copies or converts every element to another place."""
    if list(op.attributes["operandSegmentSizes"]) != [1, 1] or Reductions().has(op):
        return None
    if op.operands[0] != output.value or not _copies(op.regions[0].blocks[0]):
        return None
    read, written = (ir.AffineMapAttr(each).value for each in op.attributes["indexing_maps"])
    loops = {}
    for expression, position in zip(read.results, output.positions, strict=True):
        if isinstance(expression, ir.AffineDimExpr):
            loops[expression.position] = position
        elif position.terms:
            return None
    if not all(isinstance(e, ir.AffineDimExpr) for e in written.results):
        return None
    shape = ir.RankedTensorType(op.results[0].type).shape
    found = []
    for expression, size in zip(written.results, shape, strict=True):
        if expression.position not in loops and size > 1:
            return None
        found.append(loops.get(expression.position, Position()))
    return replace(output, value=op.results[0], positions=tuple(found))


def _copies(body: ir.Block) -> bool:
    operations = [view.operation for view in body.operations]
    value = operations[-1].operands[0]
    if len(operations) == 1:
        return bool(value == body.arguments[0])
    is_conversion = len(operations) == 2 and operations[0].name in ("arith.truncf", "arith.extf")
    return is_conversion and bool(
        operations[0].operands[0] == body.arguments[0] and value == operations[0].results[0]
    )
