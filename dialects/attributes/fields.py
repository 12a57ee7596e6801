# SPDX-License-Identifier: MIT OR Apache-2.0
"""Converts between dictionary attributes and Python values: int, bool, str, tuple, dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xyntra.dialects.base import ir

__all__ = ["Value", "from_value", "read_fields", "to_value"]

Value = bool | int | str | tuple["Value", ...] | Mapping[str, "Value"]


def from_value(value: Value) -> ir.Attribute:
    """Return `value` as an attribute of the current context; integers become i64."""
    if isinstance(value, bool):
        return ir.BoolAttr.get(value)
    if isinstance(value, int):
        return ir.IntegerAttr.get(ir.IntegerType.get_signless(64), value)
    if isinstance(value, str):
        return ir.StringAttr.get(value)
    if isinstance(value, Mapping):
        return ir.DictAttr.get({key: from_value(entry) for key, entry in value.items()})
    return ir.ArrayAttr.get([from_value(entry) for entry in value])


def to_value(attribute: ir.Attribute) -> Value:
    """Return the Python value of `attribute`.

    Raises:
        TypeError: the attribute is of a kind that `from_value` does not make.
    """
    if isinstance(attribute, ir.BoolAttr | ir.IntegerAttr | ir.StringAttr):
        value: Value = attribute.value
        return value
    if isinstance(attribute, ir.ArrayAttr):
        return tuple(map(to_value, attribute))
    if isinstance(attribute, ir.DictAttr):
        return {entry.name: to_value(entry.attr) for entry in attribute}
    raise TypeError(f"{attribute} is neither a number, a text, a list nor a dictionary")


def read_fields(
    dictionary: ir.Attribute,
    defaults: Mapping[str, Any],
    error: Callable[[str], Exception],
) -> dict[str, Any]:
    """Return the entries of `dictionary` as values of the types that `defaults` has.

    A tuple among the defaults stands for a list of integers. What `error` makes is raised where
    an entry is unknown or has another type.
    """
    found: dict[str, Any] = {}
    for entry in dictionary.maybe_downcast():
        if entry.name not in defaults:
            raise error(_unknown(entry.name, defaults))
        try:
            value = to_value(entry.attr)
        except TypeError as reason:
            raise error(f"{entry.name}: {reason}") from reason
        if not _is_like(value, defaults[entry.name]):
            wanted = _NOUNS[type(defaults[entry.name])]
            raise error(f"{entry.name} is {wanted}, got {entry.attr}")
        found[entry.name] = value
    return found


_NOUNS = {
    bool: "true or false",
    int: "an integer",
    str: "a text",
    tuple: "a list of integers",
    dict: "a dictionary",
}


def _is_like(value: Value, default: Any) -> bool:
    if isinstance(value, bool) != isinstance(default, bool) or not isinstance(value, type(default)):
        return False
    return not isinstance(value, tuple) or all(type(entry) is int for entry in value)


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    from difflib import get_close_matches

    near = get_close_matches(name, known, 1)
    meant = f"; did you mean '{near[0]}'?" if near else f"; known are {', '.join(known)}"
    return f"'{name}' is unknown{meant}"
