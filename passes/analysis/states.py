# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tells which values of a function are written where one of its inputs lies."""

from __future__ import annotations

from xyntra.dialects.aliases import aliases_of
from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.views import origin_of, readers_of
from xyntra.passes.diagnostics import PassFailure

__all__ = ["states_of", "updated_by_loops", "updates_argument"]

_BOUNDS = 3
"""Operands of a loop ahead of the values that it starts with."""


def states_of(function: ir.Operation) -> dict[ir.Value, ir.Value]:
    """The arguments in whose place values are written, by what computes these values.

    Raises:
        PassFailure: the attribute `xyntra.alias` of a result says what cannot be.
    """
    try:
        aliases = aliases_of(function)
    except ValueError as error:
        raise PassFailure.at(function, str(error)) from None
    if not aliases:
        return {}
    block = function.regions[0].blocks[0]
    returned = list(list(block.operations)[-1].operands)
    return {origin_of(returned[each.result]): block.arguments[each.argument] for each in aliases}


def updated_by_loops(value: ir.Value) -> ir.Value | None:
    """The argument of the function that loops update to `value`, and nothing else reads.

    None where `value` comes about in another way.
    """
    origin = origin_of(value)
    if isinstance(origin.owner, ir.Block) or origin.owner.name != "scf.for":
        return None
    loop = origin.owner.operation
    start = list(loop.operands)[_BOUNDS + list(loop.results).index(origin)]
    state = origin_of(start)
    is_whole = isinstance(state.owner, ir.Block) and state.type == value.type
    return state if is_whole and readers_of(state) == [loop] else None


def updates_argument(value: ir.Value, argument: ir.Value) -> bool:
    """Tell whether loops update `argument`, which nothing else reads, to `value`."""
    found = updated_by_loops(value)
    return found is not None and found == argument
