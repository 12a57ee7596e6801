# SPDX-License-Identifier: MIT OR Apache-2.0
"""Reads pipelines in MLIR's textual form into a flat list of steps.

    builtin.module(fuse-operations{max-ops=8},func.func(canonicalize,cse),symbol-dce)

The outer `builtin.module(…)` may be left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from xyntra.errors import ConfigError

__all__ = ["ROOT", "PassStep", "parse_pipeline"]

ROOT = "builtin.module"
_OPEN, _CLOSE = "({[", ")}]"
_ANCHOR = re.compile(r"[A-Za-z_]\w*(\.[\w.]+)?")
_PASS = re.compile(r"[A-Za-z][\w.-]*")


@dataclass(frozen=True)
class PassStep:
    """One pass: its name, the text between its braces, and the ops that it is nested in."""

    name: str
    options: str = ""
    nest: tuple[str, ...] = (ROOT,)

    def __str__(self) -> str:
        """Return the element as it stands in a pipeline."""
        return f"{self.name}{{{self.options}}}" if self.options else self.name

    @property
    def pipeline(self) -> str:
        """The step as a complete textual pipeline."""
        text = str(self)
        for anchor in reversed(self.nest):
            text = f"{anchor}({text})"
        return text


def parse_pipeline(text: str) -> tuple[PassStep, ...]:
    """Return the steps of `text` in order.

    Raises:
        ConfigError: brackets do not match, or something is neither a pass nor a nested list.
    """
    elements = _split(text)
    if len(elements) == 1 and (inner := _nested(elements[0])) and inner[0] in (ROOT, "any"):
        return tuple(_steps(_split(inner[1]), (inner[0],)))
    return tuple(_steps(elements, (ROOT,)))


def _steps(elements: list[str], nest: tuple[str, ...]) -> Iterator[PassStep]:
    for element in elements:
        inner = _nested(element)
        if inner:
            yield from _steps(_split(inner[1]), (*nest, inner[0]))
            continue
        name, brace, options = element.partition("{")
        if not _PASS.fullmatch(name.strip()) or (brace and not options.endswith("}")):
            raise _bad(f"'{element}' is neither a pass nor a nested pipeline")
        yield PassStep(name.strip(), options[:-1].strip(), nest)


def _nested(element: str) -> tuple[str, str] | None:
    name, parenthesis, rest = element.partition("(")
    if not parenthesis or not rest.endswith(")") or not _ANCHOR.fullmatch(name.strip()):
        return None
    return name.strip(), rest[:-1]


def _split(text: str) -> list[str]:
    """Split at the commas that are outside all brackets and quotes."""
    parts, open_brackets, quote, start = [], [], "", 0
    for place, letter in enumerate(text):
        if quote:
            quote = "" if letter == quote else quote
        elif letter in "\"'":
            quote = letter
        elif letter in _OPEN:
            open_brackets.append(letter)
        elif letter in _CLOSE:
            if not open_brackets or _OPEN.index(open_brackets.pop()) != _CLOSE.index(letter):
                raise _bad(f"'{letter}' at column {place + 1} of '{text}' closes nothing")
        elif letter == "," and not open_brackets:
            parts.append(text[start:place].strip())
            start = place + 1
    if open_brackets or quote:
        raise _bad(f"'{quote or open_brackets[-1]}' in '{text}' is never closed")
    parts.append(text[start:].strip())
    if parts == [""]:
        return []
    if "" in parts:
        raise _bad(f"a pass name is missing before or after a comma of '{text}'")
    return parts


def _bad(message: str) -> ConfigError:
    return ConfigError("bad-pipeline", message)
