# SPDX-License-Identifier: MIT OR Apache-2.0
"""The kinds of value that a setting can have: what is expected, how it is checked and read.

Every check and every parser raises ValueError for what it does not accept; the caller knows the
setting's name and place and makes the error that a user sees.
"""

from __future__ import annotations

import math
import operator
import os
import re
from collections.abc import Callable
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path

_WORDS = dict.fromkeys(("1", "true", "yes", "on"), True) | dict.fromkeys(
    ("0", "false", "no", "off"), False
)
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(b|[kmgt]i?b)?", re.IGNORECASE)
_UNITS = {"b": 1} | {
    f"{prefix}{suffix}": base**power
    for power, prefix in enumerate("kmgt", start=1)
    for suffix, base in (("b", 1000), ("ib", 1024))
}


def _as_is(text: str) -> object:
    return text


@dataclass(frozen=True)
class SettingKind:
    """One kind of value.

    Attributes:
        expected: a noun phrase for error messages.
        check: takes a Python value, returns it in its final type.
        parse: takes text from the environment, returns what `check` takes.
        is_path: whether a relative value in a file is meant from that file's folder.
    """

    expected: str
    check: Callable[[object], object]
    parse: Callable[[str], object] = _as_is
    is_path: bool = False


def choice(*values: str, expected: str = "") -> SettingKind:
    """Return the kind of one word out of `values`; `expected` says which, where not all do."""

    def check(value: object) -> object:
        if not isinstance(value, str) or value not in values:
            raise ValueError
        return value

    return SettingKind(expected or "one of " + ", ".join(values), check)


def pattern(expected: str, regex: str) -> SettingKind:
    """Return the kind of text that matches `regex` as a whole."""

    def check(value: object) -> object:
        if not isinstance(value, str) or not re.fullmatch(regex, value):
            raise ValueError
        return value

    return SettingKind(expected, check)


def flag() -> SettingKind:
    """Return the kind of a bool; the environment may say 1, true, yes, on and their opposites."""

    def check(value: object) -> object:
        if not isinstance(value, bool):
            raise ValueError
        return value

    def parse(text: str) -> object:
        if text.lower() not in _WORDS:
            raise ValueError
        return _WORDS[text.lower()]

    return SettingKind("true or false", check, parse)


def integer(low: int, high: int | None = None) -> SettingKind:
    """Return the kind of a whole number from `low` to `high`, both included."""

    def check(value: object) -> object:
        number = _index(value)
        if number < low or (high is not None and number > high):
            raise ValueError
        return number

    limits = f"of {low} or more" if high is None else f"from {low} to {high}"
    return SettingKind(f"a whole number {limits}", check, int)


def seconds() -> SettingKind:
    """Return the kind of a finite, positive time in seconds (float)."""
    return positive("a number of seconds above 0")


def positive(expected: str) -> SettingKind:
    """Return the kind of a finite, positive number (float); `expected` says what it is."""

    def check(value: object) -> object:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise ValueError
        if not (math.isfinite(value) and value > 0):
            raise ValueError
        return float(value)

    return SettingKind(expected, check, float)


def size() -> SettingKind:
    """Return the kind of a positive number of bytes: 4096, "512 MB" (10^6), "4GiB" (2^30)."""

    def check(value: object) -> object:
        count = _parse_size(value) if isinstance(value, str) else _index(value)
        if not 1 <= count < 1 << 63:
            raise ValueError
        return count

    return SettingKind('a number of bytes such as 4096 or "4GiB"', check)


def folder() -> SettingKind:
    """Return the kind of a folder's path (pathlib.Path, absolute, `~` expanded)."""

    def check(value: object) -> object:
        if not isinstance(value, (str, os.PathLike)) or not os.fspath(value):
            raise ValueError
        text = os.fspath(value)
        if not isinstance(text, str) or "\0" in text:
            raise ValueError
        return Path(os.path.abspath(os.path.expanduser(text)))

    return SettingKind("the path of a folder", check, is_path=True)


def file() -> SettingKind:
    """Return the kind of a file's path, as `folder` has that of a folder."""
    return replace(folder(), expected="the path of a file")


def optional(kind: SettingKind) -> SettingKind:
    """Return the kind that also takes None, written `none` in the environment and in files."""

    def check(value: object) -> object:
        return None if value is None or value == "none" else kind.check(value)

    def parse(text: str) -> object:
        return None if text.lower() == "none" else kind.parse(text)

    return SettingKind(f"{kind.expected}, or none", check, parse, is_path=kind.is_path)


def _index(value: object) -> int:
    if isinstance(value, bool):
        raise ValueError
    try:
        return operator.index(value)  # type: ignore[arg-type]
    except TypeError as error:
        raise ValueError from error


def _parse_size(text: str) -> int:
    found = _SIZE.fullmatch(text.strip())
    if not found:
        raise ValueError
    return int(Decimal(found[1]) * _UNITS[(found[2] or "b").lower()])
