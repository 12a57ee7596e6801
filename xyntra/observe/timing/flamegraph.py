# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes flame graphs: an SVG picture, or JSON for speedscope (https://www.speedscope.app).

A frame is as wide as the time in it and in what it contains; frames lie below the one that they are
in. After Brendan Gregg, "The Flame Graph" (ACM Queue 14(2), 2016), drawn from the top down.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from html import escape
from pathlib import Path

from xyntra.errors import InputError
from xyntra.observe.text import duration, printable
from xyntra.observe.timing.stacks import Stacks
from xyntra.plan.storage.files import replace_file

__all__ = ["check_name", "write_flamegraph"]

_WIDTH, _ROW, _TOP = 1200.0, 18, 34
_LETTER = 6.6
"""Width of a letter at the size of the frames' text; the font is monospaced."""
_NARROWEST = 0.4


def check_name(path: str) -> None:
    """Raise InputError unless the name of a file says which of the two formats it is to have."""
    if Path(path).suffix not in (".svg", ".json"):
        raise InputError(
            "file-name",
            f"a flame graph cannot be written to '{path}'",
            cause="its name ends neither in .svg nor in .json",
            hint=".svg for a picture, .json for speedscope",
        )


def write_flamegraph(path: str, stacks: Stacks, title: str) -> None:
    """Write a flame graph in the format that the file's name ends in.

    Args:
        path: ends in .svg or .json.
        stacks: nanoseconds by stack.
        title: what was measured.

    Raises:
        InputError: the name ends in something else.
        ArchiveError: the file cannot be written.
    """
    check_name(path)
    write = _svg if Path(path).suffix == ".svg" else _speedscope
    replace_file(path, [write(stacks, title).encode()])


def _speedscope(stacks: Stacks, title: str) -> str:
    """Return a profile whose samples are the stacks, in the order in which they are given."""
    numbers: dict[str, int] = {}
    samples = []
    for stack in stacks:
        samples.append([numbers.setdefault(frame, len(numbers)) for frame in stack])
    weights = [max(taken, 0) for taken in stacks.values()]
    profile = {"type": "sampled", "name": title, "unit": "nanoseconds", "startValue": 0}
    profile |= {"endValue": sum(weights), "samples": samples, "weights": weights}
    schema = "https://www.speedscope.app/file-format-schema.json"
    shared = {"frames": [{"name": name} for name in numbers]}
    return json.dumps({"$schema": schema, "name": title, "shared": shared, "profiles": [profile]})


@dataclass
class _Frame:
    name: str
    own: int = 0
    inner: dict[str, _Frame] = field(default_factory=dict)

    @property
    def whole(self) -> int:
        return self.own + sum(each.whole for each in self.inner.values())


def _tree(stacks: Stacks) -> _Frame:
    root = _Frame("all")
    for stack, taken in stacks.items():
        frame = root
        for name in stack:
            frame = frame.inner.setdefault(name, _Frame(name))
        frame.own += max(taken, 0)
    return root


def _svg(stacks: Stacks, title: str) -> str:
    root = _tree(stacks)
    whole = max(root.whole, 1)
    placed = list(_placed(root, 0.0, _WIDTH / whole, 0))
    height = _TOP + _ROW * (max((depth for _, _, _, depth in placed), default=0) + 1) + 8
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH:g} {height}"'
        f' font-family="monospace" font-size="11">',
        f'<rect width="100%" height="100%" fill="#fff"/><text x="8" y="20" font-size="14">'
        f"{escape(printable(title))}: {duration(root.whole)}</text>",
    ]
    lines += [_box(frame, left, width, depth, whole) for frame, left, width, depth in placed]
    return "\n".join([*lines, "</svg>\n"])


def _placed(
    frame: _Frame, left: float, scale: float, depth: int
) -> Iterator[tuple[_Frame, float, float, int]]:
    """Yield a frame and those in it with their left edge, width and depth, wider ones first."""
    width = frame.whole * scale
    if width < _NARROWEST:
        return
    yield frame, left, width, depth
    for each in sorted(frame.inner.values(), key=lambda inner: -inner.whole):
        yield from _placed(each, left, scale, depth + 1)
        left += each.whole * scale


def _box(frame: _Frame, left: float, width: float, depth: int, whole: int) -> str:
    top = _TOP + _ROW * depth
    name = printable(frame.name)
    about = f"{name}: {duration(frame.whole)}, {100 * frame.whole / whole:.1f}%"
    letters = int((width - 6) / _LETTER)
    shown = name if len(name) <= letters else name[: max(letters - 1, 0)] + "…"
    text = f'<text x="{left + 3:.1f}" y="{top + 12}">{escape(shown)}</text>' if letters > 2 else ""
    return (
        f'<g><title>{escape(about)}</title><rect x="{left:.1f}" y="{top}" width="{width:.1f}"'
        f' height="{_ROW - 1}" rx="2" fill="{_colour(frame.name)}" stroke="#fff"'
        f' stroke-width="0.5"/>{text}</g>'
    )


def _colour(name: str) -> str:
    """Return a warm colour, always the same one for a name."""
    number = zlib.crc32(name.encode())
    return f"hsl({number % 45 + 10} {70 + number // 45 % 20}% {68 + number // 900 % 12}%)"
