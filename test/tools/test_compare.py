# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra compare`, and the samples that commands take."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import make_model, mlp

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
    with Path("calls/a.npz").open("wb") as file:
        np.save(file, np.zeros(3))
    assert cli.run(["compare", "m.onnx", "--samples", "calls"]) == 1
    assert "is no .npz file" in capsys.readouterr().err
    np.savez("calls/a.npz", x=np.zeros((4, 31), np.float32))
    assert cli.run(["compare", "m.onnx", "--samples", "calls"]) == 1
    error = capsys.readouterr().err
    assert "[input-shape]" in error
    assert "sample 0" in error


def test_precisions_that_do_not_go_are_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    """A weight that scales of f16 cannot hold; factors that are not finite stay in f32."""
    weights = {"w": np.full((128, 128), 1e7, np.float32)}
    onnx.save(
        make_model([("MatMul", ["x", "w"], ["y"])], {"x": [4, 128]}, ["y"], weights), "m.onnx"
    )
    np.savez("calls/0.npz", x=np.full((4, 128), np.nan, np.float32))
    line = ["compare", "m.onnx", "--samples", "calls", "--json", "report.json", "--html", "page"]
    assert cli.run([*line, "--precision", "w4,int8"]) == 0
    text = capsys.readouterr().out
    assert "w4 is left out: " in text
    assert "int8: 1 kept in f32: its factor has values that are not finite" in text
    assert "w4 is left out: " in Path("page").read_text()
    report = json.loads(Path("report.json").read_text())
    assert list(report["refused"]) == ["w4"]
    assert [each["precision"] for each in report["precisions"]] == ["f32", "int8"]
    assert cli.run([*line, "--precision", "w4"]) == 1
    assert "[weight-overflow]" in capsys.readouterr().err
