# SPDX-License-Identifier: MIT OR Apache-2.0
"""Replaces what a pattern matched by what its builder returns."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.recognize.matching.match import Match, MatchBuilder
from xyntra.passes.recognize.matching.matcher import Bound
from xyntra.passes.recognize.matching.pattern import Pattern
from xyntra.passes.recognize.matching.search import Found

__all__ = ["replace_all"]

_PURE = ("arith.constant", "linalg.", "tensor.", "xyntra.")


def replace_all(found: Sequence[Found], built: dict[ir.Operation, str]) -> list[ir.Operation]:
    """Build all replacements, then erase what they replace.

    A pattern without a builder whose name is no op of the dialect names what it found: the
    operations stay, and their locations begin with its name.

    Args:
        found: matches that do not overlap.
        built: the pattern that each operation was built by; brought up to date.

    Returns:
        the new (or named) operations.

    Raises:
        PassFailure: a builder made something of another type than what it replaces.
    """
    current: dict[ir.Value, ir.Value] = {}
    new: list[ir.Operation] = []
    superfluous: list[ir.Operation] = []
    for each in found:
        name = each.pattern.name
        if _only_names(each):
            for operation in each.operations:
                operation.location = _location(name, [operation])
            new += each.operations
            built.update(dict.fromkeys(each.operations, name))
            continue
        root = each.match.value
        builder = MatchBuilder(
            each.match, _location(name, each.operations), lambda value: current.get(value, value)
        )
        current[root] = _replacement(each.pattern, each.match, builder)
        root.replace_all_uses_with(current[root])
        new += builder.created
        built.update(dict.fromkeys(builder.created, name))
        superfluous += each.operations
    dead = _unused(superfluous)
    for operation in dead:
        built.pop(operation, None)
    for operation in dead:
        operation.erase()
    return new


def _only_names(found: Found) -> bool:
    context = found.operations[0].context
    named_op = f"xyntra.{found.pattern.name}"
    return found.pattern.builder is None and not context.is_registered_operation(named_op)


def _location(name: str, operations: Sequence[ir.Operation]) -> ir.Location:
    context = operations[0].context
    locations = [operation.location for operation in operations]
    return ir.Location.fused([ir.Location.name(name, context=context), *locations], context=context)


def _replacement(pattern: Pattern, match: Match, builder: MatchBuilder) -> ir.Value:
    if pattern.builder is None:
        result = _named_op(pattern, match, builder)
    else:
        _, *names = inspect.signature(pattern.builder).parameters
        operands = {name: builder.operand(name) for name in names}
        result = pattern.builder(builder, **operands).value
    if result.type != match.value.type:
        raise PassFailure.at(
            match.operation,
            f"pattern '{pattern.name}' replaces {match.value.type} by {result.type}",
            code="bad-pattern",
        )
    return result


def _named_op(pattern: Pattern, match: Match, builder: MatchBuilder) -> ir.Value:
    """`xyntra.<name>` of the tensors in order, with the numbers and axes as attributes."""
    operands: list[ir.Value] = []
    attributes: dict[str, ir.Attribute] = {}
    for name in pattern.parameters:
        value = match.state.bindings.get(name)
        if isinstance(value, Bound):
            operands.append(builder.materialise(value).value)
        elif isinstance(value, tuple):
            i64 = ir.IntegerType.get_signless(64, builder.context)
            attributes[name] = ir.IntegerAttr.get(i64, min(value))
        elif value is not None:
            f32 = ir.F32Type.get(builder.context)
            attributes[name] = ir.FloatAttr.get(f32, value, loc=builder.location)
    made = builder.emit(f"xyntra.{pattern.name}", operands, [match.value.type], attributes)
    return made.results[0]


def _unused(operations: Sequence[ir.Operation]) -> list[ir.Operation]:
    """Return what is not used any more, with what only that used, users first."""
    dead: dict[ir.Operation, None] = {}
    waiting = list(operations)
    while waiting:
        operation = waiting.pop()
        if operation in dead or not operation.name.startswith(_PURE):
            continue
        users = (use.owner.operation for result in operation.results for use in result.uses)
        if not all(user in dead for user in users):
            continue
        dead[operation] = None
        owners = (value.owner for value in operation.operands)
        waiting += [owner.operation for owner in owners if not isinstance(owner, ir.Block)]
    return list(dead)
