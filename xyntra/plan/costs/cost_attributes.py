# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads what the cost model left in the IR. An attribute that is absent is unknown, not zero."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from torch_mlir import ir

from xyntra.errors import ModelError
from xyntra.plan.costs.cost import Boundary, Cost, Unfused

COST = "xyntra.cost"
"""Attribute of a call: `{bytes, flops, nanoseconds, bound}` of one launch."""
BOUNDARIES = "xyntra.boundaries"
"""Attribute of a call: `[{source, target, reason, bytes, nanoseconds, slower}, …]`, the last one
where it is known."""
UNFUSED = "xyntra.unfused"
"""Attribute of the module: `{kernels, bytes, nanoseconds}` with one kernel an operation."""

_Record = TypeVar("_Record", Boundary, Cost, Unfused)


def cost_of(call: ir.Operation) -> Cost | None:
    """The predicted cost of a launch; ModelError if the attribute is malformed."""
    attribute = call.attributes.get(COST, None)
    return None if attribute is None else _record(Cost, attribute, COST)


def boundaries_of(call: ir.Operation) -> tuple[Boundary, ...] | None:
    """The boundaries on which a launch reads; ModelError if the attribute is malformed."""
    attribute = call.attributes.get(BOUNDARIES, None)
    if attribute is None:
        return None
    if not isinstance(attribute, ir.ArrayAttr):
        raise _malformed(BOUNDARIES, "it is no array")
    return tuple(_record(Boundary, entry, BOUNDARIES) for entry in attribute)


def unfused_of(module: ir.Operation) -> Unfused | None:
    """The totals without fusion; ModelError if the attribute is malformed."""
    attribute = module.attributes.get(UNFUSED, None)
    return None if attribute is None else _record(Unfused, attribute, UNFUSED)


def _record(kind: Callable[..., _Record], attribute: ir.Attribute, name: str) -> _Record:
    if not isinstance(attribute, ir.DictAttr):
        raise _malformed(name, "it is no dictionary")
    fields: Mapping[str, Any] = {entry.name: _value(entry.attr, name) for entry in attribute}
    try:
        return kind(**fields)
    except (TypeError, ValueError) as error:
        raise _malformed(name, str(error)) from None


def _value(attribute: ir.Attribute, name: str) -> str | int | float:
    if isinstance(attribute, ir.StringAttr):
        return str(attribute.value)
    if isinstance(attribute, ir.IntegerAttr):
        return int(attribute.value)
    if isinstance(attribute, ir.FloatAttr):
        return float(attribute.value)
    raise _malformed(name, f"{attribute} is no number and no text")


def _malformed(name: str, cause: str) -> ModelError:
    return ModelError(
        "attribute-invalid",
        f"the attribute '{name}' is malformed",
        cause=cause,
        hint="leave it out: it informs, and changes nothing",
    )
