# SPDX-License-Identifier: MIT OR Apache-2.0
"""The bar charts of README: well-formed, true to their numbers, drawn from recorded results."""

from __future__ import annotations

import json
from xml.etree import ElementTree

import pytest

from bench.documents.charts import CHARTS, Bar, bar_chart
from bench.harness.measure import ROOT

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", CHARTS)
def test_the_drawn_charts_are_those_of_the_recorded_results(name: str) -> None:
    recorded, draw = CHARTS[name]
    result = json.loads((ROOT / "bench" / "results" / recorded).read_text("utf-8"))
    assert (ROOT / "docs" / "images" / name).read_text("utf-8") == draw(result)


def test_bars_are_as_long_as_their_ratios() -> None:
    text = bar_chart("a < b", "c & d", [Bar("half", 1, 2, "ms"), Bar("twice", 4, 2, "ms")])
    tree = ElementTree.fromstring(text)  # noqa: S314  (made by ourselves)
    bars = {each.get("class"): each for each in tree.iter(f"{SVG}rect")}
    assert float(bars["slower"].get("width", 0)) == pytest.approx(
        4 * float(bars["bar"].get("width", 0)), rel=1e-2
    )
    (line,) = tree.iter(f"{SVG}line")
    start, width = float(bars["bar"].get("x", 0)), float(bars["bar"].get("width", 0))
    assert float(line.get("x1", 0)) == pytest.approx(start + 2 * width, rel=1e-2)
    assert "geometric mean 1.00" in text
