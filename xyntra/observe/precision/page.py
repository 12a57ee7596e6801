# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws what lower precisions cost and save as one HTML page: errors against times, and nodes.

Models are untrusted: their strings are escaped, and the policy of the page lets a browser load and
run nothing.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape

from xyntra.observe.precision.costs import (
    PrecisionCost,
    kept_lines,
    node_title,
    worst_nodes,
)
from xyntra.observe.text import count, duration, printable, shorten

__all__ = ["precision_page"]

_WIDTH, _HEIGHT = 720, 360
_LEFT, _RIGHT, _TOP, _BOTTOM = 70, 90, 24, 46
_LABEL = (60, 15)
"""Width and height of a label, in pixels."""
_FEW_TICKS = 3
_DIGITS = ((1,), (1, 2, 5), (1, 1.5, 2, 3, 4, 5, 6, 8), [digit / 10 for digit in range(10, 100)])
"""What powers of ten are multiplied with on an axis, from few to many."""
_LONGEST_NAME = 36
_COLOURS = {
    "f32": "#59636e",
    "tf32": "#8250df",
    "f16": "#0969da",
    "bf16": "#1b7c83",
    "int8": "#bf3989",
    "fp8": "#6639ba",
    "w8": "#9a6700",
    "w4": "#bc4c00",
    "w4a8": "#cf222e",
}
_STYLE = """
:root { color-scheme: light dark; --ink: #1f2328; --faint: #59636e; --line: #d1d9e0; --page: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6edf3; --faint: #9198a1; --line: #3d444d; --page: #0d1117 } }
body { font: 14px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--page);
  max-width: 880px; margin: 2em auto; padding: 0 1em }
h1 { font-size: 1.4em } h2 { font-size: 1.1em; margin-top: 2em } p { color: var(--faint) }
table { border-collapse: collapse; width: 100% }
.wide { overflow-x: auto }
th, td { text-align: right; padding: .3em .7em; border-bottom: 1px solid var(--line);
  white-space: nowrap; font-variant-numeric: tabular-nums }
th:first-child, td:first-child, td.name { text-align: left }
svg { width: 100%; height: auto } svg text { font: 12px system-ui, sans-serif; fill: var(--ink);
  paint-order: stroke; stroke: var(--page); stroke-width: 3px }
svg .faint { fill: var(--faint) } svg line { stroke: var(--line) }
svg .leader { stroke: var(--faint) }
.bar { display: grid; grid-template-columns: 22em 1fr 6em; gap: .8em; align-items: center }
.bar span { overflow: hidden; text-overflow: ellipsis; white-space: nowrap }
.bar b { display: block; height: .8em; border-radius: 2px }
.bar i { font-style: normal; text-align: right; font-variant-numeric: tabular-nums }
@media (max-width: 640px) { .bar { grid-template-columns: 1fr 6em; margin-bottom: .6em }
  .bar b { grid-row: 2; grid-column: 1 / 3 } svg text { font-size: 18px } }
"""


def precision_page(
    costs: Sequence[PrecisionCost],
    samples: int,
    title: str,
    refused: Mapping[str, str] | None = None,
) -> str:
    """Return the page; the first entry is what the others are compared with.

    Args:
        costs: what was measured.
        samples: over how many.
        title: of the page.
        refused: why precisions that were asked for are not there.
    """
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    head = (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        f"<title>{escape(title)} · precision</title>\n<style>{_STYLE}</style>\n</head>\n<body>\n"
    )
    intro = (
        f"<h1>{escape(title)}</h1>\n<p>Errors of outputs relative to f32, as root mean square, over"
        f" {samples} samples; the median time of a call on this machine.</p>\n"
    )
    remarks = [line for cost in costs for line in kept_lines(cost)]
    remarks += [f"{name} is left out: {reason}" for name, reason in (refused or {}).items()]
    parts = [head, intro, _chart(costs), _table(costs)]
    parts += [f"<p>{escape(printable(line))}</p>\n" for line in remarks]
    parts += [_nodes(cost) for cost in costs if cost.nodes]
    return "".join([*parts, "</body>\n</html>\n"])


def _error(cost: PrecisionCost) -> float:
    """Return the largest error of an output; infinity where it has become no number."""
    errors = [each.relative for each in cost.outputs]
    if any(each.not_finite for each in cost.outputs):
        return math.inf
    return max(errors, default=0.0)


class _Scale:
    """Maps positive numbers to pixels, by their logarithms."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, margin: float) -> None:
        low, high = min(values), max(values)
        self.low, self.high = math.log10(low) - margin, math.log10(high) + margin
        self.start, self.end = start, end

    def at(self, value: float) -> float:
        """Return the place of a number."""
        part = (math.log10(value) - self.low) / (self.high - self.low)
        return self.start + min(1.0, max(0.0, part)) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """Return round numbers in the range: powers of ten, and as much between as shows a few."""
        found: list[float] = []
        for digits in _DIGITS:
            found = [
                digit * 10.0**power
                for power in range(math.floor(self.low), math.ceil(self.high) + 1)
                for digit in digits
                if self.low <= power + math.log10(digit) <= self.high
            ]
            if len(found) >= _FEW_TICKS:
                break
        return found


def _chart(costs: Sequence[PrecisionCost]) -> str:
    """Draw a point for each precision: to the left is faster, down is nearer to f32."""
    errors = [_error(cost) for cost in costs[1:]]
    usable = [each for each in errors if each > 0 and math.isfinite(each)] or [1e-6]
    none = min(usable) / 10  # where no error is drawn
    times = [max(1.0, cost.nanoseconds) for cost in costs]
    x = _Scale(times, _LEFT, _WIDTH - _RIGHT, margin=0.08)
    y = _Scale([none, *usable], _HEIGHT - _BOTTOM, _TOP, margin=0.2)
    lines = [f'<svg viewBox="0 0 {_WIDTH} {_HEIGHT}" role="img" aria-label="errors against times">']
    for tick in x.ticks():
        place = x.at(tick)
        lines.append(
            f'<line x1="{place:.1f}" x2="{place:.1f}" y1="{_TOP}" y2="{_HEIGHT - _BOTTOM}"/>'
            f'<text class="faint" x="{place:.1f}" y="{_HEIGHT - _BOTTOM + 18}"'
            f' text-anchor="middle">{escape(duration(tick))}</text>'
        )
    for tick in (none, *(each for each in y.ticks() if each > 2 * none)):
        place = y.at(tick)
        lines.append(
            f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{place:.1f}" y2="{place:.1f}"/>'
            f'<text class="faint" x="{_LEFT - 8}" y="{place + 4:.1f}"'
            f' text-anchor="end">{"0" if tick == none else f"{tick:.0e}"}</text>'
        )
    middle = (_LEFT + _WIDTH - _RIGHT) / 2
    lines.append(
        f'<text class="faint" x="{middle}" y="{_HEIGHT - 8}" text-anchor="middle">time of a call'
        f'</text><text class="faint" x="{_LEFT}" y="{_TOP - 8}">error, relative to f32</text>'
    )
    placed: list[tuple[float, float]] = []
    labels = []  # drawn over all points
    for cost, time, error in zip(costs, times, [0.0, *errors], strict=True):
        height, left = y.at(max(none, min(error, 1e9))), x.at(time)
        colour = _COLOURS.get(cost.precision, "#59636e")
        label = cost.precision if math.isfinite(error) else f"{cost.precision}: not finite"
        line = _free_line(left, height, placed)
        placed.append((left, line))
        lines.append(f'<circle cx="{left:.1f}" cy="{height:.1f}" r="6" fill="{colour}"/>')
        if line != height:
            labels.append(
                f'<line class="leader" x1="{left:.1f}" y1="{height:.1f}"'
                f' x2="{left + 9:.1f}" y2="{line:.1f}"/>'
            )
        labels.append(f'<text x="{left + 10:.1f}" y="{line + 4:.1f}">{escape(label)}</text>')
    return "\n".join([*lines, *labels, "</svg>\n"])


def _free_line(left: float, height: float, placed: Sequence[tuple[float, float]]) -> float:
    """Return where a label can stand, as near to the height of its point as can be."""
    offsets = [0.0]
    offsets += [sign * step * _LABEL[1] for step in range(1, len(placed) + 2) for sign in (-1, 1)]
    for offset in offsets:
        line = height + offset
        is_taken = any(
            abs(left - other) < _LABEL[0] and abs(line - there) < _LABEL[1]
            for other, there in placed
        )
        if not is_taken and _TOP / 2 <= line <= _HEIGHT - _BOTTOM:
            return line
    return height


def _table(costs: Sequence[PrecisionCost]) -> str:
    names = ("precision", "time", "weights", "output", "max error", "RMS", "cosine", "top-1")
    lines = [
        '<div class="wide"><table>',
        f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>",
    ]
    for cost in costs:
        head = [cost.precision, duration(cost.nanoseconds), f"{count(cost.memory)}B"]
        for each in cost.outputs or (None,):
            cells = [*head, *[""] * 5]
            if each is not None:
                top1 = "" if each.top1 is None else f"{each.top1:.1%}"
                numbers = [f"{each.largest:.2e}", f"{each.relative:.2e}", f"{each.cosine:.7f}"]
                cells = [*head, shorten(printable(each.name), 40), *numbers, top1]
            lines.append(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in cells)}</tr>")
            head = ["", "", ""]
    return "\n".join([*lines, "</table></div>\n"])


def _nodes(cost: PrecisionCost) -> str:
    """Draw bars for the nodes that contribute most."""
    worst = worst_nodes(cost)
    finite = [error for _, error in worst if math.isfinite(error)]
    most = max(finite, default=1.0) or 1.0
    colour = _COLOURS.get(cost.precision, "#59636e")
    lines = [f"<h2>{escape(cost.precision)}: {escape(node_title(cost.precision))}</h2>"]
    for name, error in worst:
        part = 100 * (error / most if math.isfinite(error) else 1.0)
        label = printable(name)
        # Names of nodes are paths: their ends tell them apart.
        ending = label if len(label) <= _LONGEST_NAME else f"…{label[1 - _LONGEST_NAME :]}"
        lines.append(
            f'<div class="bar"><span title="{escape(label)}">{escape(ending)}</span>'
            f'<b style="width: {part:.1f}%; background: {colour}"></b><i>{error:.2e}</i></div>'
        )
    return "\n".join([*lines, ""])
