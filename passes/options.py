# SPDX-License-Identifier: MIT OR Apache-2.0
"""Turns the options of a pass, as written in a pipeline or on a command line, into its fields."""

from __future__ import annotations

import types
from collections.abc import Callable
from dataclasses import fields
from functools import partial
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from xyntra.errors import ConfigError
from xyntra.passes.suggest import did_you_mean

__all__ = ["describe_options", "make_pass"]

_TRUE = {"true": True, "1": True, "false": False, "0": False}


def make_pass(cls: type[Any], text: str = "") -> Any:
    """Return the pass `cls` with the options that `text` gives.

    `text` is `name=value` pairs between spaces or commas. A name alone sets a bool; a list's items
    are separated by commas (`sizes=8,16 unroll=2`, or `sizes=8,16,unroll=2`).

    Raises:
        ConfigError: an option is unknown, is given twice, or has a value of the wrong type.
    """
    kinds = _kinds(cls)
    values: dict[str, Any] = {}
    for name, value in _pairs(cls.name, text, kinds):
        if name in values:
            raise ConfigError("repeated-option", f"pass '{cls.name}' was given '{name}' twice")
        values[name] = _convert(cls.name, name, value, kinds[name])
    return cls(**{name.replace("-", "_"): value for name, value in values.items()})


def describe_options(cls: type[Any]) -> list[tuple[str, str, Any]]:
    """Return (name, type in words, default) for each option of the pass `cls`."""
    default = cls()
    return [
        (name, _words(kind), getattr(default, name.replace("-", "_")))
        for name, kind in _kinds(cls).items()
    ]


def _kinds(cls: type[Any]) -> dict[str, Any]:
    hints = get_type_hints(cls)
    return {entry.name.replace("_", "-"): hints[entry.name] for entry in fields(cls)}


def _pairs(owner: str, text: str, kinds: dict[str, Any]) -> list[tuple[str, str]]:
    pairs: list[tuple[str, str]] = []
    for group in text.split():
        start = len(pairs)
        for item in group.split(","):
            name, equals, value = item.partition("=")
            if not equals and item not in kinds and len(pairs) > start:
                pairs[-1] = (pairs[-1][0], f"{pairs[-1][1]},{item}")
                continue
            if name not in kinds:
                raise _unknown(owner, name, kinds)
            pairs.append((name, value if equals else "true"))
    return pairs


def _unknown(owner: str, name: str, kinds: dict[str, Any]) -> ConfigError:
    known = f"it has {', '.join(kinds)}" if kinds else "it has none"
    return ConfigError(
        "unknown-option",
        f"pass '{owner}' has no option '{name}'",
        hint=did_you_mean(name, kinds, known),
    )


def _convert(owner: str, name: str, text: str, kind: Any) -> Any:
    try:
        return _parser(kind)(text)
    except (KeyError, ValueError) as error:
        raise ConfigError(
            "bad-option",
            f"option '{name}' of pass '{owner}' is {_words(kind)}, got '{text}'",
        ) from error


def _parser(kind: Any) -> Callable[[str], Any]:
    if kind in (int, float, str):
        return partial(kind)
    if kind is bool:
        return lambda text: _TRUE[text.lower()]
    if get_origin(kind) is Literal:
        choices = {str(choice): choice for choice in get_args(kind)}
        return lambda text: choices[text]
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        item = _parser(get_args(kind)[0])
        return lambda text: tuple(map(item, text.split(","))) if text else ()
    if get_origin(kind) in (Union, types.UnionType):
        return _parser(_without_none(kind))
    raise TypeError(f"{kind} cannot be the type of a pass option")


def _without_none(kind: Any) -> Any:
    (inner,) = (part for part in get_args(kind) if part is not types.NoneType)
    return inner


def _words(kind: Any) -> str:
    if kind in _WORDS:
        return _WORDS[kind]
    if get_origin(kind) is Literal:
        return "one of " + ", ".join(map(str, get_args(kind)))
    if get_origin(kind) is tuple:
        return f"a list, each {_words(get_args(kind)[0])}"
    return _words(_without_none(kind))


_WORDS = {int: "an integer", float: "a number", str: "a text", bool: "true or false"}
