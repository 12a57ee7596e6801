# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs the patterns of the guide, taken from its text."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from onnx_models import make_model
from pattern_models import recognised

import xyntra

ERF = [
    ("Div", ["s", "root"], ["d"]),
    ("Erf", ["d"], ["e"]),
    ("Add", ["e", "one"], ["f"]),
    ("Mul", ["s", "f"], ["m"]),
    ("Mul", ["m", "half"], ["g"]),
]


@pytest.fixture
def examples(root: Path) -> list[str]:
    """The Python of the page."""
    text = (root / "docs" / "patterns.md").read_text(encoding="utf-8")
    return re.findall(r"```python\n(.*?)```", text, re.DOTALL)


def test_the_first_example_is_seen_in_explain(
    examples: list[str], tmp_path: Path, settings: dict[str, object]
) -> None:
    assert len(examples[0].splitlines()) <= 10
    path = tmp_path / "feed_forward.py"
    path.write_text(examples[0], encoding="utf-8")
    product = [("MatMul", ["x", "w"], ["p"]), ("Add", ["p", "b"], ["s"])]
    nodes = [*product, *ERF, ("Dropout", ["g"], ["y"])]
    model = make_model(nodes, {"x": [8, 32]}, ["y"], weights(64))
    named = recognised(model, f"{{files={path}}}")
    report = xyntra.compile(named, config=settings).explain()
    assert re.search(r"contraction_\w+ +feed_forward, ", report)
    narrow = make_model(nodes, {"x": [8, 32]}, ["y"], weights(48))
    assert "feed_forward" not in recognised(narrow, f"{{files={path}}}")


def weights(columns: int) -> dict[str, np.ndarray]:
    generator = np.random.default_rng(0)
    return {
        "w": generator.standard_normal((32, columns), np.float32),
        "b": generator.standard_normal(columns, np.float32),
        "root": np.array(2**0.5, np.float32),
        "one": np.array(1, np.float32),
        "half": np.array(0.5, np.float32),
    }


def test_the_second_example_computes_the_same(
    examples: list[str], tmp_path: Path, settings: dict[str, object]
) -> None:
    path = tmp_path / "quick_gelu.py"
    path.write_text(examples[1], encoding="utf-8")
    nodes = [("Mul", ["x", "scale"], ["s"]), ("Sigmoid", ["s"], ["g"]), ("Mul", ["g", "x"], ["y"])]
    scale = np.array(1.702, np.float32)
    model = make_model(nodes, {"x": [64]}, ["y"], {"scale": scale})
    text = recognised(model, f"{{files={path}}}")
    assert text.count("linalg.generic") == 1
    assert '"quick_gelu"' in text
    x = np.random.default_rng().standard_normal(64).astype(np.float32)
    wide = x.astype(np.float64)
    found = xyntra.compile(text, config=settings).run({"x": x})["y"]
    wanted = wide / (1 + np.exp(-wide * float(scale)))
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)
