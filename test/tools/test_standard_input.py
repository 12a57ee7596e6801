# SPDX-License-Identifier: MIT OR Apache-2.0
"""Models that come through standard input, for every command."""

from __future__ import annotations

import io
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx_models import mlp

import xyntra
from xyntra.tools import cli

MLIR = "func.func @main(%x: tensor<3xf32>) -> tensor<3xf32> {\n  return %x : tensor<3xf32>\n}\n"
MAIN = "from xyntra.tools.cli import main; main()"


@pytest.fixture(autouse=True)
def _quick(in_process: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def fed(monkeypatch: pytest.MonkeyPatch) -> Callable[..., int]:
    """Run `xyntra` with bytes on standard input."""

    def run(data: bytes, *arguments: str) -> int:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(data)))
        return cli.run(arguments)

    return run


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_every_command_reads_onnx(
    name: str, fed: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    data = mlp().SerializeToString()
    assert fed(data, "run", name, "--random", "0", "--check", "onnxruntime") == 0
    assert "y: agrees with onnxruntime" in capsys.readouterr().out
    assert fed(data, "explain", name, "--time") == 0
    assert "contraction" in capsys.readouterr().out
    assert fed(data, "explain", name, "--html", "page.html") == 0
    assert "standard input" in Path("page.html").read_text()
    for level in ("linalg", "fused", "kernels", "llvm", "dot", "json"):
        assert fed(data, "compile", name, "--emit", level) == 0
        assert capsys.readouterr().out
    assert fed(data, "compile", name, "--emit", "onnx", "-o", "reduced.onnx") == 0
    onnx.load("reduced.onnx")
    assert fed(data, "compile", name) == 0
    assert xyntra.load("model.xyn").inputs[0].name == "x"


def test_other_formats_are_known_by_their_contents(
    fed: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fed(MLIR.encode(), "run", "-", "--random", "0") == 0
    assert "float32 (3,)" in capsys.readouterr().out
    assert fed(mlp().SerializeToString(), "compile", "-", "-o", "m.xyn") == 0
    saved = Path("m.xyn").read_bytes()
    assert fed(saved, "run", "-", "--random", "0") == 0
    assert "float32 (4, 16)" in capsys.readouterr().out
    assert fed(saved, "run", "-", "--dim", "n=1") == 1
    assert "standard input" in capsys.readouterr().err


BAD = {
    "nothing": (b"", "model-empty"),
    "text": (b"hello\n", "model-not-onnx"),
    "a cut model": (mlp().SerializeToString()[:-5], "model-truncated"),
    "a cut saved model": (b"XYNTRA\r\n", "archive-invalid"),
}


@pytest.mark.parametrize(("data", "code"), BAD.values(), ids=BAD)
def test_errors_name_standard_input(
    data: bytes, code: str, fed: Callable[..., int], capsys: pytest.CaptureFixture[str]
) -> None:
    assert fed(data, "run", "-") == 1
    error = capsys.readouterr().err
    assert f"error[{code}]" in error
    assert "at: standard input" in error


def test_a_terminal_is_not_read(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.setattr(sys, "stdin", Terminal())
    assert cli.run(["run", "-"]) == 1
    assert "xyntra run - < model.onnx" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["-", "/dev/stdin"])
def test_a_pipe_is_read(name: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", MAIN, "run", name, "--random", "0"],
        input=mlp().SerializeToString(),
        capture_output=True,
        check=True,
        timeout=120,
    )
    assert b"y: float32 (4, 16)" in done.stdout
