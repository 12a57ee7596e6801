# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write measured tables into Markdown documents, each between two markers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.harness.files import atomic_path

__all__ = ["Region", "error_cell", "line", "machine_line", "number", "one_line", "table"]

_LONGEST_ERROR = 500


class Region:
    """The part of a document that a command writes.

    Attributes:
        begin, end: the markers, HTML comments that name the command.
    """

    def __init__(self, command: str) -> None:
        self.begin = f"<!-- begin: {command} -->"
        self.end = f"<!-- end: {command} -->"

    def update(self, path: Path, content: str) -> None:
        """Replace what is between the markers of `path`.

        Raises:
            ValueError: the markers are not there, once each and in order.
        """
        text = self.replace(path.read_text(encoding="utf-8"), content)
        with atomic_path(path) as temporary:
            temporary.write_text(text, encoding="utf-8")

    def replace(self, text: str, content: str) -> str:
        """Return `text` with `content` between the markers; see `update`."""
        before, begin, rest = text.partition(self.begin)
        _, end, after = rest.partition(self.end)
        if not begin or not end or self.begin in rest or self.end in before + after:
            raise ValueError(f"the document needs {self.begin!r} and then {self.end!r}, once each")
        return f"{before}{self.begin}\n{content}{self.end}{after}"


def table(header: Sequence[str], rows: Sequence[Sequence[str]], *, texts: int = 1) -> list[str]:
    """The lines of a table whose first `texts` columns hold text and whose others numbers."""
    rule = ["---"] * texts + ["---:"] * (len(header) - texts)
    return [line(header), line(rule), *map(line, rows)]


def line(cells: Sequence[str]) -> str:
    """One line of a table."""
    return f"| {' | '.join(cells)} |"


def machine_line(machine: dict[str, Any], settings: str) -> str:
    """One line on what was measured with, ended by a sentence of `settings`."""
    versions = ", ".join(f"{k} {v}" for k, v in machine["versions"].items() if v is not None)
    return (
        f"Measured {machine['date'][:10]} on {machine['cpu']}, {machine['cores_allowed']} cores, "
        f"{number(machine['memory_bytes'], 2**-30, 0) or '?'} GiB, {machine['os']}, "
        f"{machine['python']}; {versions}. Load average before: {machine['load_average']}. "
        f"{settings}"
    )


def number(value: float | None, scale: float, digits: int) -> str:
    """A number with so many digits after the point; nothing for None."""
    return "" if value is None else f"{value * scale:.{digits}f}"


def error_cell(value: float | None) -> str:
    """A numerical error; nothing for None."""
    if value is None:
        return ""
    return f"{value:.1e}" if math.isfinite(value) else "not finite"


def one_line(text: str) -> str:
    """A message as code on one line.

    Errors quote graphs and paths: this keeps them from being read as Markdown or HTML.
    """
    joined = " / ".join(part.strip() for part in text.splitlines() if part.strip())
    return "`" + joined.replace("`", "'")[:_LONGEST_ERROR] + "`"
