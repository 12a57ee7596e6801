# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra.requires`: the attribute of a result without which the other results mean nothing.

The result is one boolean. Where a call computes false, it raises the error that the attribute
holds: a dictionary of the texts `code` and `message`, and of `place`, `cause` and `hint` where
there are such.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xyntra.dialects.mlir import ir
from xyntra.errors import is_code

__all__ = ["REQUIRES", "is_flag_type", "read_requirement", "requirements_of", "requires_attribute"]

REQUIRES = "xyntra.requires"
_NEEDED = ("code", "message")
_FIELDS = (*_NEEDED, "place", "cause", "hint")


def requires_attribute(fields: Mapping[str, str]) -> ir.DictAttr:
    """The attribute that holds an error, in the current context.

    Args:
        fields: texts by name, as they are read again; empty ones are left out.
    """
    return ir.DictAttr.get({name: ir.StringAttr.get(text) for name, text in fields.items() if text})


def read_requirement(attribute: ir.Attribute) -> dict[str, str]:
    """The texts of an attribute.

    Raises:
        ValueError: it is not what `requires_attribute` makes; the message says why.
    """
    if not isinstance(attribute, ir.DictAttr):
        raise ValueError("it is no dictionary")
    fields: dict[str, str] = {}
    for entry in attribute:
        if entry.name not in _FIELDS:
            raise ValueError(f"it has the unknown entry '{entry.name}'")
        if not isinstance(entry.attr, ir.StringAttr):
            raise ValueError(f"its entry '{entry.name}' is no text")
        fields[entry.name] = str(entry.attr.value)
    for name in _NEEDED:
        if not fields.get(name):
            raise ValueError(f"it has no entry '{name}'")
    if not is_code(fields["code"]):
        raise ValueError(f"its code '{fields['code']}' is not kebab-case")
    return fields


def is_flag_type(type_: ir.Type) -> bool:
    """Tell whether a result of this type may be required: it is one boolean."""
    if isinstance(type_, ir.RankedTensorType):
        return type_.rank == 0 and str(type_.element_type) == "i1"
    return str(type_) == "i1"


def requirements_of(function: ir.Operation) -> Iterator[tuple[int, ir.Attribute]]:
    """The results of a function that are required: their positions and attributes."""
    if "res_attrs" not in function.attributes:
        return
    for position, given in enumerate(ir.ArrayAttr(function.attributes["res_attrs"])):
        entries = ir.DictAttr(given)
        if REQUIRES in entries:
            yield position, entries[REQUIRES]
