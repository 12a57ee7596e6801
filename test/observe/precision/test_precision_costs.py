# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests the cost of a lower precision: numbers by hand, and the text."""

from __future__ import annotations

import json
import math
import re

import numpy as np
import pytest

from xyntra.observe.precision.costs import (
    PrecisionCost,
    costs_as_data,
    measure_errors,
    report_costs,
)
from xyntra.observe.precision.page import precision_page


def test_errors_are_those_over_all_samples() -> None:
    exact = [{"y": np.array([[3.0, 4.0], [1.0, 0.0]]), "n": np.array([1])}, {"y": np.zeros((2, 2))}]
    found = [
        {"y": np.array([[3.0, 4.5], [0.0, 1.0]])},
        {"y": np.array([[0.0, np.inf], [0.0, 0.0]])},
    ]
    (errors,) = measure_errors(found, exact)
    assert (errors.name, errors.largest, errors.not_finite) == ("y", 1.0, 1)
    assert errors.relative == pytest.approx(np.sqrt((0.25 + 1 + 1) / 26))
    assert errors.cosine == pytest.approx(27 / np.sqrt(26 * (9 + 4.5**2 + 1)))
    assert errors.top1 == pytest.approx((0.5 + 0.5) / 2)


@pytest.mark.filterwarnings("error")
def test_outputs_without_rows_or_elements() -> None:
    exact = [{"s": np.float32(0.0), "z": np.zeros((0, 3), np.float32), "v": np.ones((2, 1))}]
    scalar, empty, column = measure_errors(exact, exact)
    assert scalar.top1 is None
    assert empty.top1 is None
    assert column.top1 is None
    assert [each.relative for each in (scalar, empty, column)] == [0.0, 0.0, 0.0]
    assert [each.cosine for each in (scalar, empty)] == [1.0, 1.0]


def test_the_report_has_the_worst_nodes() -> None:
    exact = [{"y": np.ones(4, np.float32)}]
    found = [{"y": np.float32([1, 1, 1, np.nan])}]
    nodes = {f"node{i}": i * 1e-3 for i in range(9)}
    costs = [
        PrecisionCost("f32", (), 2e6, 2048),
        PrecisionCost("f16", measure_errors(found, exact), 1e6, 1024, nodes),
    ]
    text = report_costs(costs, 1)
    assert "1 not finite" in text
    assert "2.05 kB" in text
    assert "1 ms" in text
    assert [name for name in nodes if name in text] == [f"node{i}" for i in range(4, 9)]
    data = json.loads(json.dumps(costs_as_data(costs, 1)))
    assert data["precisions"][1]["outputs"][0]["not_finite"] == 1


def test_the_page_draws_every_precision_and_runs_nothing() -> None:
    exact = [{"y<b>": np.float32([[1, 2], [3, 4]])}]
    found = [{"y<b>": np.float32([[1, 2], [3, 4.01]])}]
    broken = [{"y<b>": np.float32([[1, 2], [3, np.inf]])}]
    nodes = {"<script>alert(1)</script>": math.inf, "second": 2e-3}
    costs = [
        PrecisionCost("f32", (), 2e6, 2048),
        PrecisionCost("w8", measure_errors(exact, exact), 2e6, 2048),
        PrecisionCost("int8", measure_errors(found, exact), 1e6, 1024, nodes),
        PrecisionCost("f16", measure_errors(broken, exact), 1.5e6, 1024),
    ]
    text = precision_page(costs, 1, "a & b.onnx")
    assert text.count("<circle") == 4
    assert "f16: not finite" in text
    assert "default-src 'none'" in text
    assert "<script" not in text
    assert "y<b>" not in text
    assert "a &amp; b.onnx" in text
    assert "&lt;script&gt;" in text
    svg = text[text.index("<svg") : text.index("</svg>") + len("</svg>")]
    places = [float(each) for each in re.findall(r'<circle cx="[0-9.]+" cy="([0-9.]+)"', svg)]
    assert places[0] == places[1] > places[2] > places[3] >= 0  # no error is lowest


def test_what_lies_close_together_is_told_apart_on_the_page() -> None:
    """Labels keep apart, an axis has some numbers, and names of nodes keep their ends."""
    exact = [{"y": np.float32([[1, 2], [3, 4]])}]
    found = [{"y": np.float32([[1, 2], [3, 4.01]])}]
    scope = "a_model_with_a_long_name/and_a_block_in_it"
    nodes = {f"{scope}/first/MatMul": 2e-3, f"{scope}/second/MatMul": 1e-3}
    costs = [
        PrecisionCost(name, measure_errors(found, exact) if name != "f32" else (), time, 1, nodes)
        for name, time in (("f32", 14e6), ("f16", 11e6), ("w8", 11.05e6), ("w4", 11.1e6))
    ]
    text = precision_page(costs, 1, "m.onnx")
    labels = re.findall(r'<text x="([0-9.]+)" y="([0-9.]+)">(\w+)</text>', text)
    assert sorted(name for *_, name in labels) == ["f16", "f32", "w4", "w8"]
    heights = sorted(float(y) for _, y, name in labels if name != "f32")
    assert min(np.diff(heights)) >= 12
    assert text.count('class="leader"') == 2
    assert text.count(" ms</text>") >= 3
    assert "first/MatMul</span>" in text
    assert "second/MatMul</span>" in text
