# SPDX-License-Identifier: MIT OR Apache-2.0
"""Compares diagnostics with the `expected-error` comments of a test, as `mlir-opt` does.

    // expected-error@+1 {{a part of the message}}
    // expected-warning-re@below {{took {{[0-9]+}} ms}}

A comment speaks of its own line, of a line given relative to it, of the nearest line without such
a comment (`@above`, `@below`), or of no line (`@unknown`).
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from xyntra.passes.diagnostics import Diagnostic

__all__ = ["check_expected"]

_COMMENT = re.compile(
    r"expected-(?P<severity>error|warning|note|remark)(?P<re>-re)?"
    r" *(@(?P<place>[+-][0-9]+|above|below|unknown))? *\{\{(?P<text>.*)\}\}\s*$"
)
# MLIR adds this note to errors of verifiers; it repeats the op and is not worth expecting.
_IGNORED_NOTE = "see current operation"


@dataclass
class _Expected:
    """One comment; line 0 stands for a diagnostic outside the file."""

    severity: str
    line: int
    text: str
    is_pattern: bool
    comment_line: int
    found: bool = False

    def matches(self, diagnostic: Diagnostic) -> bool:
        line = diagnostic.line if diagnostic.file == "-" else 0
        if self.found or self.severity != diagnostic.severity or self.line != line:
            return False
        if not self.is_pattern:
            return self.text in diagnostic.message
        return re.search(_as_pattern(self.text), diagnostic.message) is not None


def check_expected(source: str, diagnostics: Sequence[Diagnostic]) -> list[str]:
    """Return a line of complaint for each diagnostic not expected and each expected one missing.

    A complaint starts with the line number that it is about.
    """
    expected = _read(source.split("\n"))
    complaints = []
    for diagnostic in _with_notes(diagnostics):
        match = next((entry for entry in expected if entry.matches(diagnostic)), None)
        if match:
            match.found = True
        else:
            place = diagnostic.line if diagnostic.file == "-" else 0
            text = f"unexpected {diagnostic.severity}: {diagnostic.message}"
            complaints.append(f"{place}: {text}")
    complaints += [
        f'{entry.comment_line}: expected {entry.severity} "{entry.text}" was not produced'
        for entry in expected
        if not entry.found
    ]
    return complaints


def _with_notes(diagnostics: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    for diagnostic in diagnostics:
        if diagnostic.severity != "note" or not diagnostic.message.startswith(_IGNORED_NOTE):
            yield diagnostic
        yield from _with_notes(diagnostic.notes)


def _read(lines: list[str]) -> list[_Expected]:
    comments = {
        number: match for number, line in enumerate(lines, 1) if (match := _COMMENT.search(line))
    }
    return [
        _Expected(
            match["severity"],
            _line_meant(match["place"], number, comments),
            match["text"],
            bool(match["re"]),
            number,
        )
        for number, match in comments.items()
    ]


def _line_meant(place: str | None, number: int, comments: dict[int, re.Match[str]]) -> int:
    if place is None:
        return number
    if place == "unknown":
        return 0
    if place in ("above", "below"):
        step = 1 if place == "below" else -1
        number += step
        while number in comments:
            number += step
        return number
    return number + int(place)


def _as_pattern(text: str) -> str:
    """Turn text with `{{pattern}}` parts into one regular expression."""
    pieces = re.split(r"\{\{(.*?)\}\}", text)
    return "".join(
        f"(?:{piece})" if index % 2 else re.escape(piece) for index, piece in enumerate(pieces)
    )
