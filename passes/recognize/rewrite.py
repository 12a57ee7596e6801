# SPDX-License-Identifier: MIT OR Apache-2.0
"""Puts replacements in the place of matches."""

from __future__ import annotations

import inspect
from collections.abc import Sequence

from xyntra.dialects.mlir import ir
from xyntra.passes.diagnostics import PassFailure
from xyntra.passes.recognize.match import Match, MatchBuilder
from xyntra.passes.recognize.matcher import Bound
from xyntra.passes.recognize.pattern import Pattern
from xyntra.passes.recognize.search import Found

__all__ = ["replace_all"]

_PURE = ("arith.constant", "linalg.", "tensor.", "xyntra.")


def replace_all(found: Sequence[Found]) -> list[tuple[ir.Operation, str]]:
    """Build all replacements, then erase what they replace.

    A pattern without a builder whose name is no op of the dialect names what it found: the
    operations stay, and their locations begin with its name.

    Returns:
        the new (or named) operations, each with the name of its pattern.

    Raises:
        PassFailure: a builder made something of another type than what it replaces.
    """
    current: dict[ir.Value, ir.Value] = {}
    built: list[tuple[ir.Operation, str]] = []
    superfluous: list[ir.Operation] = []
    for each in found:
        name = each.pattern.name
        if _only_names(each):
            for operation in each.operations:
                operation.location = _location(name, [operation])
            built += [(operation, name) for operation in each.operations]
            continue
        root = each.match.value
        builder = MatchBuilder(
            each.match, _location(name, each.operations), lambda value: current.get(value, value)
        )
        current[root] = _replacement(each.pattern, each.match, builder)
        root.replace_all_uses_with(current[root])
        built += [(operation, name) for operation in builder.created]
        superfluous += each.operations
    _erase(superfluous)
    return built


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


def _erase(operations: Sequence[ir.Operation]) -> None:
    """Erase what is not used any more, and what only that used."""
    dead: dict[ir.Operation, None] = {}
    waiting = list(reversed(operations))
    while waiting:
        operation = waiting.pop()
        if operation in dead or not operation.name.startswith(_PURE):
            continue
        users = (use.owner.operation for result in operation.results for use in result.uses)
        if not all(user in dead for user in users):
            continue
        # Its users came before it: this is an order in which all can be erased.
        dead[operation] = None
        owners = (value.owner for value in operation.operands)
        waiting += [owner.operation for owner in owners if not isinstance(owner, ir.Block)]
    for operation in dead:
        operation.erase()
