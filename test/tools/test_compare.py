# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compare`, and the samples that commands take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import mlp

from xyntra.tools import cli


@pytest.fixture(autouse=True)
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XYNTRA_ISOLATE", "false")
    monkeypatch.setenv("XYNTRA_CACHE_DIR", str(tmp_path / "cache"))
    onnx.save(mlp(), "m.onnx")
    Path("calls").mkdir()


def test_a_comparison(capsys: pytest.CaptureFixture[str]) -> None:
    for number in range(2):
        x = np.random.default_rng(number).standard_normal((4, 32), np.float32)
        np.savez(f"calls/{number}.npz", x=x)
    assert cli.run(["compare", "m.onnx", "--samples", "calls", "--json", "report.json"]) == 0
    text = capsys.readouterr().out
    assert "over 2 samples" in text
    assert "bf16: what rounding" in text
    exact, half, brain = json.loads(Path("report.json").read_text())["precisions"]
    assert exact["outputs"] == []
    assert 0 < half["outputs"][0]["relative"] < 2.0**-10 < brain["outputs"][0]["relative"] < 2.0**-7
    assert half["memory"] < exact["memory"]
    assert list(half["nodes"]) == ["MatMul:p"]


def test_what_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    for line, code, says in (
        (["compare", "m.onnx", "--precision", "f16,int3"], "config-value", "'int3'"),
        (["compare", "m.onnx", "--samples", "calls"], "no-samples", "calls"),
        (["run", "m.onnx", "--precision", "f16", "--samples", "gone"], "no-samples", "gone"),
    ):
        assert cli.run(line) == 1
        error = capsys.readouterr().err
        assert f"[{code}]" in error
        assert says in error
    Path("calls/a.npz").write_bytes(b"no archive")
    assert cli.run(["compare", "m.onnx", "--samples", "calls"]) == 1
    assert "[input-file]" in capsys.readouterr().err
    np.savez("calls/a.npz", x=np.zeros((4, 31), np.float32))
    assert cli.run(["compare", "m.onnx", "--samples", "calls"]) == 1
    error = capsys.readouterr().err
    assert "[input-shape]" in error
    assert "sample 0" in error
