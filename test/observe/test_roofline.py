# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels are compared with the nearer of the two roofs, and drawn in three formats."""

from __future__ import annotations

from pathlib import Path

import pytest

from xyntra.observe.timing.roofline import Roofs, share_of_roof, write_roofline
from xyntra.plan.kernel import kernels_of
from xyntra.plan.plan import Plan

ROOFS = Roofs(bandwidth=100.0, compute=1000.0)


def test_roofs() -> None:
    assert ROOFS.at(1.0) == 100.0
    assert ROOFS.at(50.0) == 1000.0


def test_kernels_are_compared_with_the_nearer_roof(costed: Plan) -> None:
    product, softmax = kernels_of(costed)[:2]
    # 250 operations a byte: arithmetic bounds it; 0.5: memory does.
    assert share_of_roof(ROOFS, product, 1000) == 0.5
    assert share_of_roof(ROOFS, softmax, 100) == pytest.approx(0.2)
    assert share_of_roof(ROOFS, softmax, 0) is None


@pytest.mark.parametrize(
    ("suffix", "begins"), [("svg", "<?xml"), ("png", "\x89PNG"), ("html", "<!doctype")]
)
def test_formats(costed: Plan, tmp_path: Path, suffix: str, begins: str) -> None:
    pytest.importorskip("matplotlib")
    path = tmp_path / f"r.{suffix}"
    write_roofline(str(path), ROOFS, kernels_of(costed), [1000, 100, 1000, 100], "a <model>")
    assert path.read_bytes().startswith(begins.encode("latin-1"))
