# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads settings from `fusion.toml`, the environment and Python mappings.

Each source gives (name, value and place) pairs, and refuses names that are not settings.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from .config_values import SettingKind
from .errors import ConfigError

FILE_NAME = "fusion.toml"
TABLE = "xyntra"
ENV_PREFIX = "XYNTRA_"


class GivenSetting(NamedTuple):
    """A value, not checked yet, and where the user wrote it."""

    value: object
    place: str | None


def check(name: str, given: GivenSetting, kind: SettingKind) -> object:
    """Return the value in its final type.

    Raises:
        ConfigError: the value is not of this kind.
    """
    try:
        return kind.check(given.value)
    except ValueError:
        raise _wrong_value(name, given, kind) from None


def find_file(start: Path | None = None) -> Path | None:
    """Return the nearest `fusion.toml` in `start` (default: the current folder) or a parent."""
    try:
        first = (start or Path.cwd()).absolute()
    except FileNotFoundError:  # the current folder was deleted
        return None
    for parent in (first, *first.parents):
        if os.path.isfile(parent / FILE_NAME):
            return parent / FILE_NAME
    return None


def named(
    values: Mapping[str, object], label: str, kinds: Mapping[str, SettingKind]
) -> Iterator[tuple[str, GivenSetting]]:
    """Yield the settings of a Python mapping; `label` formats a name into a place."""
    for name, value in values.items():
        place = label.format(name)
        _require_known(name, kinds, place)
        yield name, GivenSetting(value, place)


def from_environment(
    environ: Mapping[str, str], kinds: Mapping[str, SettingKind]
) -> Iterator[tuple[str, GivenSetting]]:
    """Yield the settings in `XYNTRA_<NAME>` variables; empty ones count as not set."""
    names = {ENV_PREFIX + name.upper(): name for name in kinds}
    for variable in sorted(environ):
        if not variable.startswith(ENV_PREFIX):
            continue
        given = GivenSetting(environ[variable].strip(), f"environment variable {variable}")
        _require_known(variable, names, given.place)
        if not given.value:
            continue
        name = names[variable]
        try:
            value = kinds[name].parse(str(given.value))
        except ValueError:
            raise _wrong_value(name, given, kinds[name]) from None
        yield name, GivenSetting(value, given.place)


def from_file(path: Path, kinds: Mapping[str, SettingKind]) -> Iterator[tuple[str, GivenSetting]]:
    """Yield the settings in the table `[xyntra]` of a TOML file.

    Raises:
        ConfigError: the file cannot be read, is not TOML, or holds anything else.
    """
    text = _read(path)
    for name, value in _table(path, text, kinds).items():
        place = f"{path}:{_line(text, name)}"
        _require_known(name, kinds, place)
        if kinds[name].is_path and isinstance(value, str) and value not in ("", "none"):
            value = path.absolute().parent / os.path.expanduser(value)
        yield name, GivenSetting(value, place)


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, ValueError) as error:
        cause = error.strerror if isinstance(error, OSError) else str(error)
        raise ConfigError(
            "config-unreadable", "the file cannot be read", place=str(path), cause=cause
        ) from error


def _table(path: Path, text: str, kinds: Mapping[str, SettingKind]) -> dict[str, object]:
    import tomllib

    try:
        document = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(
            "config-syntax", "the file is not valid TOML", place=str(path), cause=str(error)
        ) from None
    for name in document:
        place = f"{path}:{_line(text, name)}"
        if name in kinds:
            raise ConfigError(
                "config-unknown",
                f"{name!r} stands outside the table [{TABLE}]",
                place=place,
                hint=f"put a line [{TABLE}] above it",
            )
        _require_known(name, (TABLE,), place)
    table = document.get(TABLE, {})
    if not isinstance(table, dict):
        raise ConfigError("config-value", f"{TABLE!r} must be a table", place=str(path))
    return table


def _line(text: str, name: str) -> int:
    word = rf"""["']?{re.escape(name)}["']?"""
    key = re.compile(rf"\s*(?:(?:{TABLE}\s*\.\s*)?{word}\s*[=.]|\[(?:{TABLE}\.)?{word}\s*[].])")
    for number, line in enumerate(text.splitlines(), start=1):
        if key.match(line):
            return number
    return 1


def _require_known(name: object, known: Iterable[str], place: str | None) -> None:
    names = list(known)
    if name in names:
        return
    import difflib

    near = difflib.get_close_matches(str(name), names, n=1)
    hint = f"did you mean {near[0]!r}?" if near else "known names: " + ", ".join(names)
    raise ConfigError("config-unknown", f"unknown setting {name!r}", place=place, hint=hint)


def _wrong_value(name: str, given: GivenSetting, kind: SettingKind) -> ConfigError:
    return ConfigError(
        "config-value",
        f"{name!r} must be {kind.expected}, not {given.value!r}",
        place=given.place,
    )
