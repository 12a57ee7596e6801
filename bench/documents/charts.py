# SPDX-License-Identifier: MIT OR Apache-2.0
"""Draws the times of whole models as bar charts: `python -m bench.documents.charts`.

Each bar is our time divided by a peer's in the same run, so that shorter is faster and a line at 1
is the peer. The numbers are those that `bench.cpu` and `bench.cuda` recorded in bench/results; the
SVG files lie in docs/images and follow the reader's light or dark theme.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from bench.harness.files import atomic_path
from bench.harness.measure import ROOT

__all__ = ["CHARTS", "Bar", "bar_chart", "cpu_chart", "cuda_chart", "main"]

_LABELS, _BARS, _NOTES = 190, 340, 190
"""Widths of the columns, in pixels."""
_ROW, _TOP, _BOTTOM = 22, 58, 34
_STYLE = """
text { font: 12px system-ui, sans-serif; fill: #1f2328 }
.title { font-size: 15px; font-weight: 600 }
.faint { fill: #59636e }
.bar { fill: #2da44e } .slower { fill: #cf222e }
.track { fill: #59636e; opacity: .13 }
.peer { stroke: #59636e; stroke-dasharray: 3 3 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 } .faint { fill: #9198a1 } .bar { fill: #3fb950 } .slower { fill: #f85149 }
  .peer { stroke: #9198a1 }
}
"""
_COMPILED = ("torch.compile", "reduce-overhead")


@dataclass(frozen=True)
class Bar:
    """One model.

    Attributes:
        label: its name.
        ours, peer: the times, in one unit.
        unit: that unit.
    """

    label: str
    ours: float
    peer: float
    unit: str

    @property
    def ratio(self) -> float:
        """Ours by the peer's: below 1 where ours is faster."""
        return self.ours / self.peer


def cpu_chart(result: dict[str, Any]) -> str:
    """Return the chart of what `bench.cpu` measured, with the most threads that it used."""
    machine = result["machine"]
    threads = max(result["settings"]["threads"], key=int)
    bars = [
        Bar(row["title"], seconds["xyntra"] * 1e3, seconds["onnxruntime"] * 1e3, "ms")
        for row in result["models"]
        if (seconds := row["threads"].get(str(threads), {}).get("seconds"))
    ]
    where = f"{machine['cpu']}, {threads} threads, f32, batch 1, {machine['date'][:10]}"
    return bar_chart("Time of a call, onnxruntime = 1", where, bars)


def cuda_chart(result: dict[str, Any]) -> str:
    """Return the chart of the 16-bit models that `bench.cuda` measured."""
    machine = result["machine"]
    bars = [
        Bar(row["name"], times["xyntra"], min(times[each] for each in _COMPILED), "µs")
        for row in result["rows"]
        if row["group"] == "models" and row["name"].endswith("f16")
        if (times := row.get("microseconds"))
    ]
    where = f"{machine['gpu']}, {machine['date'][:10]}; the faster of its two modes"
    return bar_chart("Time of a call, torch.compile = 1", where, bars)


def bar_chart(title: str, subtitle: str, bars: Sequence[Bar]) -> str:
    """Return an SVG of horizontal bars, a line at 1 and the geometric mean of all."""
    longest = max(1.0, *(bar.ratio for bar in bars)) * 1.04
    height = _TOP + _ROW * len(bars) + _BOTTOM
    width = _LABELS + _BARS + _NOTES
    peer = _LABELS + _BARS / longest
    mean = statistics.geometric_mean(bar.ratio for bar in bars)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img">',
        f"<title>{escape(title)}; geometric mean {mean:.2f}</title>",
        f"<style>{_STYLE}</style>",
        f'<text class="title" x="8" y="22">{escape(title)}</text>',
        f'<text class="faint" x="8" y="42">{escape(subtitle)}</text>',
    ]
    for index, bar in enumerate(bars):
        lines += _row(bar, _TOP + _ROW * index, _BARS / longest)
    bottom = _TOP + _ROW * len(bars)
    lines += [
        f'<line class="peer" x1="{peer:.1f}" x2="{peer:.1f}" y1="{_TOP - 4}" y2="{bottom + 4}"/>',
        f'<text x="8" y="{bottom + 24}">geometric mean {mean:.2f}, shorter is faster</text>',
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _row(bar: Bar, top: int, scale: float) -> Iterator[str]:
    baseline = top + 15
    yield f'<text x="{_LABELS - 8}" y="{baseline}" text-anchor="end">{escape(bar.label)}</text>'
    yield f'<rect class="track" x="{_LABELS}" y="{top + 4}" width="{_BARS}" height="14"/>'
    kind = "bar" if bar.ratio <= 1 else "slower"
    length = bar.ratio * scale
    yield f'<rect class="{kind}" x="{_LABELS}" y="{top + 4}" width="{length:.1f}" height="14"/>'
    note = f"{bar.ratio:.2f}  ({_short(bar.ours)} of {_short(bar.peer)} {bar.unit})"
    yield f'<text class="faint" x="{_LABELS + _BARS + 8}" y="{baseline}">{note}</text>'


def _short(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


CHARTS = {
    "models-cpu.svg": ("cpu-amd-epyc-family-25-model-1-2c.json", cpu_chart),
    "models-cuda.svg": ("cuda-nvidia-h100-80gb-hbm3.json", cuda_chart),
}
"""The files of docs/images: the recorded result that each shows, and what draws it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Draw all charts; returns 0."""
    argparse.ArgumentParser(
        prog="python -m bench.documents.charts", description=__doc__
    ).parse_args(arguments)
    for name, (recorded, draw) in CHARTS.items():
        result = json.loads((ROOT / "bench" / "results" / recorded).read_text("utf-8"))
        with atomic_path(ROOT / "docs" / "images" / name) as temporary:
            Path(temporary).write_text(draw(result), encoding="utf-8")
        print(f"wrote docs/images/{name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
