# SPDX-License-Identifier: MIT OR Apache-2.0
"""Checks that calls of kernels that overwrite an argument give them a buffer that may be lost."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xyntra.dialects.mlir import ir
from xyntra.passes.analysis.parts import is_part
from xyntra.passes.analysis.states import states_of
from xyntra.passes.analysis.views import TENSOR_VIEWS
from xyntra.passes.fusion.legality.inplace import Pairs
from xyntra.passes.fusion.legality.violation import Violation

__all__ = ["check_calls"]


def check_calls(
    block: ir.Block, inplace: Mapping[str, Pairs]
) -> Iterator[tuple[ir.Operation, Violation]]:
    """Check every call in `block` of a kernel that `inplace` has pairs for, by name.

    The argument must be computed in the block, be given once, and not be used afterwards. It may be
    an input of the function if the result that takes its place is an alias of it.
    """
    function = block.owner.operation
    states = states_of(function) if function.name == "func.func" else {}
    origin: dict[ir.Value, ir.Value] = {}
    last: dict[ir.Value, int] = {}
    calls: list[tuple[int, ir.Operation, Pairs]] = []
    for index, view in enumerate(block.operations):
        op = view.operation
        for value in op.operands:
            last[origin.get(value, value)] = index
        if op.name in TENSOR_VIEWS:
            origin[op.results[0]] = origin.get(op.operands[0], op.operands[0])
        elif op.name == "func.call":
            pairs = inplace.get(ir.FlatSymbolRefAttr(op.attributes["callee"]).value)
            calls += [(index, op, pairs)] if pairs else []
    for index, call, pairs in calls:
        operands = [origin.get(value, value) for value in call.operands]
        for result, argument in pairs:
            state = states.get(call.results[result])
            is_state = state is not None and state in operands[argument : argument + 1]
            reason = _not_free(operands, argument, last, index, is_state=is_state)
            if 0 <= argument < len(call.operands) and is_part(call.operands[argument]):
                reason = "is a part of a buffer"
            if reason:
                message = f"the kernel overwrites operand {argument}, which {reason}"
                yield call, Violation("aliased-buffer", message)


def _not_free(
    operands: list[ir.Value],
    argument: int,
    last: Mapping[ir.Value, int],
    index: int,
    *,
    is_state: bool,
) -> str | None:
    if not 0 <= argument < len(operands):
        return "the call does not have"
    value = operands[argument]
    is_given = isinstance(value.owner, ir.Block)
    if is_given and not is_state:
        return "belongs to the caller"
    if not is_given and value.owner.name == "arith.constant":
        return "is a constant"
    if operands.count(value) > 1:
        return "the call passes twice"
    return "is used afterwards" if last[value] != index else None
