# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra` writes models below the level of kernel functions, and takes them back if told so."""

from __future__ import annotations

from pathlib import Path

import onnx
import pytest
from onnx_models import mlp

import xyntra
from xyntra.tools import cli, opt


@pytest.fixture(autouse=True)
def _quick(in_process: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    onnx.save(mlp(), tmp_path / "mlp.onnx")


def command(*arguments: str, status: int = 0) -> None:
    assert cli.run(arguments) == status


def text(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed; nothing may have gone to standard error."""
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


@pytest.mark.parametrize("level", ["stages", "gpu", "nvvm", "ptx"])
def test_code_is_written_trusted_and_compiled(
    level: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("compile", "mlp.onnx", "--target", "cuda:sm_90a", "-o", "whole.xyn")
    command("compile", "mlp.onnx", "--target", "cuda:sm_90a", "--emit", level, "-o", "code.mlir")
    command("compile", "code.mlir", "-o", "code.xyn", status=1)
    assert "error[untrusted-code]" in capsys.readouterr().err
    assert not (tmp_path / "code.xyn").exists()
    command("compile", "code.mlir", "--trust-code", "-o", "code.xyn")
    command("explain", "code.mlir", "--trust-code")
    command("explain", "whole.xyn")
    command("explain", "code.xyn")
    by_text, whole, saved = text(capsys).split(" operations became ")[1:]
    by_text, whole = (
        each.rpartition("\n")[0] for each in (by_text, whole)
    )  # the count of the next
    assert by_text.strip() == whole.strip() == saved.strip()
    assert "schedules of each kernel, in order" in whole


def test_a_schedule_that_cannot_be_is_one_message(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    command("compile", "mlp.onnx", "--target", "cuda:sm_90a", "--emit", "stages", "-o", "code.mlir")
    code = tmp_path / "code.mlir"
    code.write_text(code.read_text().replace('emitter = "', 'emitter = "un'))
    command("compile", "code.mlir", "--trust-code", status=1)
    shown = capsys.readouterr().err
    assert shown.startswith("xyntra: error[bad-schedule]: no emitter 'un")
    assert "code.mlir, kernel 'contraction_" in shown
    assert "the stage in line " in shown
    assert "Traceback" not in shown


def test_one_kernel_goes_through_passes_by_itself(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    exe = xyntra.compile(str(tmp_path / "mlp.onnx"), target="cuda:sm_90a")
    options = ["--target", "cuda:sm_90a", "--kernel", exe.kernels[0].name, "-o", "kernel.mlir"]
    command("compile", "mlp.onnx", "--emit", "stages", *options)
    assert opt.run(["--lower-to-gpu", "kernel.mlir"]) == 0
    assert "gpu.launch_func" in text(capsys)
    command("compile", "mlp.onnx", "--emit", "stages", *options[:2], "-o", "code.mlir")
    levels = {"kernels": "tensor<", "gpu": "gpu.func", "nvvm": "llvm.func", "ptx": ".entry"}
    for level, part in {**levels, "llvm": "ptx_kernel"}.items():
        command("compile", "mlp.onnx", "--emit", level, *options[:-2])
        shown = text(capsys)
        assert part in shown
        assert "@main" not in shown
    command("compile", "mlp.onnx", "--emit", "fused", *options, status=1)
    assert "error[kernel-level]" in capsys.readouterr().err
    nested = "builtin.module(builtin.module(gpu-stages,lower-to-gpu))"
    assert opt.run([f"--pass-pipeline={nested}", "code.mlir"]) == 0
    assert "gpu.launch_func" in text(capsys)
