# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra bench` prints latencies and kernels, and writes what it is asked for."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from xyntra.tools.cli import run

MODEL = """
func.func @main(%x: tensor<8x16xf32>) -> tensor<8x16xf32> {
  %y = math.exp %x : tensor<8x16xf32>
  return %y : tensor<8x16xf32>
}
"""


@pytest.fixture
def model(tmp_path: Path) -> str:
    path = tmp_path / "m.mlir"
    path.write_text(MODEL)
    return str(path)


def test_figures_are_printed_and_written(
    model: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    figures, graph = tmp_path / "b.json", tmp_path / "b.svg"
    command = ["bench", model, "--target", "cpu", "--seconds", "0.05"]
    assert run([*command, "--json", str(figures), "--flamegraph", str(graph)]) == 0
    printed = capsys.readouterr().out
    assert "p99" in printed
    assert "GB/s" in printed
    found = json.loads(figures.read_text())
    ours = found["latency"]["xyntra"]
    assert 0 < ours["minimum"] <= ours["p50"] <= ours["p99"] <= ours["maximum"]
    (kernel,) = found["kernels"]
    assert kernel["nanoseconds"] > 0
    assert kernel["bytes"] == 2 * 4 * 8 * 16
    assert graph.read_text().startswith("<svg")


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (["--flamegraph", "f.txt"], "neither in .svg nor in .json"),
        (["--roofline", "r.gif"], "its name ends in none of"),
        (["--peer", "onnxruntime"], "--peer runs ONNX files"),
    ],
)
def test_what_cannot_be_done_is_said_before_anything_is_measured(
    model: str, given: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", model, *given]) == 1
    assert expected in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["0", "-1", "nan", "x", "1e9"])
def test_seconds_are_checked(model: str, seconds: str) -> None:
    with pytest.raises(SystemExit):
        run(["bench", model, "--seconds", seconds])
