# SPDX-License-Identifier: MIT OR Apache-2.0
"""Placeholders for functions of an f32, which steps that would take them apart leave alone."""

from __future__ import annotations

from collections.abc import Callable

from xyntra.dialects.mlir import ir
from xyntra.dialects.scalar import emit
from xyntra.passes.analysis.kernel_function import operations_named
from xyntra.passes.analysis.owners import constant_attribute

_PLACEHOLDER = "builtin.unrealized_conversion_cast"


def hide(result: ir.Operation, x: ir.Value, name: str, attribute: ir.Attribute) -> None:
    """Let everything that reads `result` read a placeholder for a function of `x`.

    Args:
        result: the operation that computes the function; it stays.
        x: the argument, of the result's type.
        name: of the function.
        attribute: more about it, for `expand`.
    """
    with result.location, ir.InsertionPoint(result):
        hidden = ir.Operation.create(
            _PLACEHOLDER, results=[x.type], operands=[x], attributes={name: attribute}
        )
    result.result.replace_all_uses_with(hidden.result)


def hide_one_plus(module: ir.Operation, function: str, name: str) -> None:
    """Put a placeholder where 1 is added to a function of an f32, which nothing else reads.

    Args:
        module: with arithmetic on scalars.
        function: the operation, such as "math.erf".
        name: of the placeholder.
    """
    for inner in operations_named(module, function):
        uses = list(inner.result.uses)
        if len(uses) != 1 or not isinstance(inner.result.type, ir.F32Type):
            continue
        total = uses[0].owner.operation
        if total.name != "arith.addf" or not any(map(_is_one, total.operands)):
            continue
        with total.location:
            hide(total, inner.operands[0], name, ir.UnitAttr.get())
        total.erase()
        inner.erase()


def erase_with_sources(result: ir.Operation) -> None:
    """Erase an operation that nothing reads, and what was computed for it alone."""
    found = [result]
    for op in found:
        for value in op.operands:
            if isinstance(value.owner, ir.Block):
                continue
            inner = value.owner.operation
            readers = {use.owner.operation for use in value.uses}
            if inner not in found and all(reader in found for reader in readers):
                found.append(inner)
    for op in found:
        op.erase()


def expand(
    module: ir.Operation, name: str, compute: Callable[[ir.Value, ir.Attribute], ir.Value]
) -> None:
    """Put arithmetic in the place of placeholders.

    Args:
        module: where they are.
        name: of the function.
        compute: emits it for an argument, and what was said to `hide` about it.
    """
    for op in operations_named(module, _PLACEHOLDER):
        if name not in op.attributes:
            continue
        with op.location, ir.InsertionPoint(op):
            value = compute(op.operands[0], op.attributes[name])
        op.result.replace_all_uses_with(value)
        op.erase()


def f32_constant(value: float) -> ir.Value:
    """Emit a constant."""
    kind = ir.F32Type.get()
    return emit("arith.constant", [], kind, value=ir.FloatAttr.get(kind, value))


def _is_one(value: ir.Value) -> bool:
    attribute = constant_attribute(value)
    return isinstance(attribute, ir.FloatAttr) and attribute.value == 1.0
