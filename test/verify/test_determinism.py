# SPDX-License-Identifier: MIT OR Apache-2.0
"""Runs of all processes have one hash, and a difference is told."""

from __future__ import annotations

from pathlib import Path

import pytest

from verify import determinism

MODEL = """
func.func @main(%x: tensor<33x70xf32>) -> tensor<33x70xf32> {
  %y = math.tanh %x : tensor<33x70xf32>
  return %y : tensor<33x70xf32>
}
"""


def test_all_runs_have_one_hash(tmp_path: Path) -> None:
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    found = determinism.hashes(str(path), "cpu", {}, processes=2, runs=2)
    assert len(found) == 4
    assert len(set(found)) == 1


def test_a_difference_is_told(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(determinism, "hashes", lambda *_: ["a", "b", "a"])
    assert determinism.main(["m.onnx"]) == 1
    assert "2 HASHES in 3 runs" in capsys.readouterr().out
