# SPDX-License-Identifier: MIT OR Apache-2.0
"""Numbers, names and tables as text."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import takewhile

MAX_NODES = 6
UNKNOWN = "-"
# Names come from model files: a control character in one must not reach the user's terminal.
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def count(value: float) -> str:
    """`value` with a decimal unit: 1234567 -> 1.23 M."""
    size = float(value)
    for unit in ("", "k", "M", "G"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.3g} T"


def duration(nanoseconds: float | None) -> str:
    """A time with a unit: 1500 -> 1.5 us; a dash for None."""
    if nanoseconds is None:
        return UNKNOWN
    size = float(nanoseconds)
    for unit in ("ns", "us", "ms"):
        if size < 999.5:
            return f"{size:.3g} {unit}"
        size /= 1000
    return f"{size:.4g} s"


def plural(number: int, word: str) -> str:
    """`1 kernel`, `2 kernels`."""
    return f"{number} {word}" + ("" if number == 1 else "s")


def printable(name: str) -> str:
    """`name` with its control characters escaped."""
    escaped = _CONTROL.sub(lambda match: f"\\x{ord(match[0]):02x}", name)
    return escaped.encode("utf-8", "backslashreplace").decode("utf-8")


def shared_prefix(names: Sequence[str]) -> str:
    """The folders, up to a slash, that all of several names begin with."""
    split = [name.split("/")[:-1] for name in set(names)]
    if len(split) < 2:
        return ""
    shared = [
        parts[0] for parts in takewhile(lambda p: len(set(p)) == 1, zip(*split, strict=False))
    ]
    return "".join(f"{part}/" for part in shared)


def name_list(names: Sequence[str], skipped: int = 0) -> str:
    """The first names without their first `skipped` characters, and how many more there are."""
    shown = ", ".join(printable(name[skipped:]) for name in names[:MAX_NODES])
    rest = len(names) - MAX_NODES
    return f"{shown} and {rest} more" if rest > 0 else shown


def common_pattern(names: Sequence[str]) -> str | None:
    """One name for all, with * for what differs; None if hardly anything is common."""
    distinct = list(dict.fromkeys(names))
    return _numbers_apart(distinct) or _middle_apart(distinct)


def _numbers_apart(names: Sequence[str]) -> str | None:
    split = [re.split(r"(\d+)", name) for name in names]
    if len({len(parts) for parts in split}) != 1:
        return None
    pattern = []
    for position, parts in enumerate(zip(*split, strict=True)):
        alike = len(set(parts)) == 1
        if not alike and position % 2 == 0:
            return None
        pattern.append(parts[0] if alike else "*")
    return "".join(pattern)


def _middle_apart(names: Sequence[str]) -> str | None:
    shortest = min(map(len, names))
    start = _common_start(names)
    end = min(_common_start([name[::-1] for name in names]), shortest - start)
    if 2 * (start + end) < shortest:
        return None
    return f"{names[0][:start]}*{names[0][len(names[0]) - end :]}"


def _common_start(names: Sequence[str]) -> int:
    columns = zip(*names, strict=False)
    return sum(1 for _ in takewhile(lambda letters: len(set(letters)) == 1, columns))


def aligned(rows: Sequence[Sequence[str]], right: Sequence[int] = (), width: int = 0) -> list[str]:
    """Rows of cells as lines with columns, those in `right` right-aligned, cut at `width`."""
    if not rows:
        return []
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = []
    for row in rows:
        cells = [
            cell.rjust(size) if column in right else cell.ljust(size)
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        ]
        lines.append(shorten("  ".join(cells).rstrip(), width))
    return lines


def shorten(line: str, width: int) -> str:
    """`line` cut to `width` characters; as it is for 0."""
    return line if not width or len(line) <= width else line[: max(width - 1, 0)] + "…"
