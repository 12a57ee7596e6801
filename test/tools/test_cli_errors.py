# SPDX-License-Identifier: MIT OR Apache-2.0
"""Tests failures of `xyntra`: one message, the right status, and nothing half-written."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import onnx
import pytest
from bad_files import BAD_FILES
from bad_graphs import BAD_GRAPHS
from bad_mlir import BAD_MLIR
from bad_models import BadFile
from onnx_models import chain

from xyntra.tools import cli

MODELS = {**BAD_FILES, **BAD_GRAPHS, **BAD_MLIR}
MAIN = "from xyntra.tools.cli import main; main()"


@pytest.fixture(autouse=True)
def _quick(in_process: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)


def files(folder: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if "cache" not in path.parts}


def options_of(bad: BadFile) -> Iterator[str]:
    for name, shape in bad.shapes.items():
        yield f"--shape={name}={'x'.join(map(str, shape))}"


def check_failure(captured: tuple[str, str], code: str, says: str = "") -> None:
    out, err = captured
    assert out == ""
    assert err.startswith(f"xyntra: error[{code}]: ")
    assert err.count("error[") == 1
    assert says in err
    assert "Traceback" not in err


COMMANDS: dict[str, Callable[[str, str], list[str]]] = {
    "compile": lambda model, out: ["compile", model, "-o", out],
    "emit": lambda model, out: ["compile", model, "--emit", "kernels", "-o", out],
    "run": lambda model, out: ["run", model, "--random", "0", "--save", out],
    "explain": lambda model, out: ["explain", model],
}
# `--shape` takes what argparse can read, and weights are read after the levels are written.
_NOT_HERE = {"a shape that is negative"}
_NOT_EMITTED = {
    "weights are missing",
    "weights have no file",
    "calls itself",
    "above the limit",
    "with branches",
}


@pytest.mark.parametrize("name", [name for name in MODELS if name not in _NOT_HERE])
def test_a_bad_model_fails(
    name: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    bad = MODELS[name]
    path = bad.make(tmp_path)
    monkeypatch.chdir(tmp_path)
    for setting, value in bad.config.items():
        monkeypatch.setenv(f"XYNTRA_{setting.upper()}", str(value))
    before = files(tmp_path)
    for command, arguments in COMMANDS.items():
        if command == "emit" and name.startswith("mlir") and name.endswith(tuple(_NOT_EMITTED)):
            continue
        line = [*arguments(str(path), str(tmp_path / "out")), *options_of(bad)]
        assert cli.run(line) == 1
        check_failure(capsys.readouterr(), bad.code, bad.says)
        assert files(tmp_path) == before


@pytest.mark.parametrize(
    "line",
    [
        [],
        ["fly"],
        ["compile"],
        ["compile", "a", "b"],
        ["compile", "a", "--emit", "music"],
        ["compile", "a", "--emmit=dot"],
        ["compile", "a", "--shape", "x"],
        ["compile", "a", "--shape", "x=2xa"],
        ["compile", "a", "--shape", "=2"],
        ["run", "a", "--random"],
        ["run", "a", "--random", "one"],
        ["run", "a", "--random", "-1"],
        ["run", "a", "--input", "x"],
        ["run", "a", "--input", "x="],
        ["run", "a", "--check", "abacus"],
        ["explain"],
        ["explain", "a", "--kernel", "first"],
        ["explain", "a", "--kernel", "1", "--boundaries"],
        ["devices", "a"],
    ],
    ids=lambda line: " ".join(line) or "nothing",
)
def test_wrong_usage(line: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.run(line)
    assert done.value.code == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith("usage: xyntra")


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    onnx.save(chain(), tmp_path / "m.onnx")
    return tmp_path / "m.onnx"


def _text(folder: Path) -> str:
    (folder / "x.npy").write_text("hello")
    return "x=x.npy"


def _pickle(folder: Path) -> str:
    np.save(folder / "x.npy", np.array([{}]), allow_pickle=True)
    return "x=x.npy"


def _cut(folder: Path) -> str:
    np.save(folder / "x.npy", np.zeros((2, 3), np.float32))
    (folder / "x.npy").write_bytes((folder / "x.npy").read_bytes()[:-1])
    return "x=x.npy"


def _archive(folder: Path) -> str:
    np.savez(folder / "x.npz", a=np.zeros(3))
    return "x=x.npz"


def _array(name: str, array: np.ndarray) -> Callable[[Path], str]:
    def make(folder: Path) -> str:
        np.save(folder / "x.npy", array)
        return f"{name}=x.npy"

    return make


GOOD = np.zeros((2, 3), np.float32)
INPUTS: dict[str, tuple[Callable[[Path], str], str]] = {
    "missing": (lambda folder: "x=gone.npy", "input-file"),
    "a folder": (lambda folder: "x=.", "input-file"),
    "empty": (lambda folder: f"x={os.devnull}", "input-file"),
    "text": (_text, "input-file"),
    "a pickle": (_pickle, "input-file"),
    "cut off": (_cut, "input-file"),
    "several arrays": (_archive, "input-file"),
    "another shape": (_array("x", GOOD[:1]), "shape-mismatch"),
    "another dtype": (_array("x", GOOD.astype(float)), "input-dtype"),
    "another name": (_array("ghost", GOOD), "unknown-input"),
}


@pytest.mark.parametrize(("make", "code"), INPUTS.values(), ids=INPUTS)
def test_bad_input_files(
    model: Path, make: Callable[[Path], str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    given = make(model.parent)
    before = files(model.parent)
    assert cli.run(["run", "m.onnx", "--input", given, "--random", "0", "--save", "out"]) == 1
    check_failure(capsys.readouterr(), code)
    assert files(model.parent) == before


def test_missing_inputs(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["run", "m.onnx"]) == 1
    check_failure(capsys.readouterr(), "missing-input", "--random 0")


OUTPUTS = {
    "compile to a folder": ["compile", "m.onnx", "-o", "taken"],
    "compile to nowhere": ["compile", "m.onnx", "-o", "gone/m.xyn"],
    "emit to a folder": ["compile", "m.onnx", "--emit", "dot", "-o", "taken"],
    "emit to nowhere": ["compile", "m.onnx", "--emit", "linalg", "-o", "gone/m.mlir"],
}


@pytest.mark.parametrize("line", OUTPUTS.values(), ids=OUTPUTS)
def test_files_that_cannot_be_written(
    model: Path, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    (model.parent / "taken").mkdir()
    before = files(model.parent)
    assert cli.run(line) == 1
    check_failure(capsys.readouterr(), "write-failed", line[-1])
    assert files(model.parent) == before


@pytest.mark.parametrize(
    "line", [["--save", "m.onnx"], ["--save", "m.onnx/a"], ["--trace", "no/t"]]
)
def test_results_that_cannot_be_written(
    model: Path, line: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    data = model.read_bytes()
    assert cli.run(["run", "m.onnx", "--random", "0", *line]) == 1
    captured = capsys.readouterr()
    check_failure(("", captured.err), "write-failed", line[-1])
    assert model.read_bytes() == data


@pytest.mark.parametrize(
    ("options", "code"),
    [
        (["--target", "abacus"], "target-unsupported"),
        (["--precision", "tf32"], "precision-unsupported"),
        (["--precision", "f99"], "config-value"),
        (["--config", "gone.toml"], "config-unreadable"),
        (["--shape", "ghost=2x3"], "unknown-input"),
        (["--shape", "x=9x9"], "shape-mismatch"),
    ],
    ids=" ".join,
)
def test_bad_options(
    model: Path, options: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run(["compile", "m.onnx", "-o", "m.xyn", *options]) == 1
    check_failure(capsys.readouterr(), code)
    assert files(model.parent) == {model}


def test_a_saved_model_keeps_its_shapes(model: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.run(["compile", "m.onnx"]) == 0
    assert cli.run(["run", "m.xyn", "--random", "0", "--shape", "x=4x3"]) == 1
    check_failure(capsys.readouterr(), "model-compiled", "m.xyn")
    assert cli.run(["compile", "m.xyn", "--emit", "linalg"]) == 1
    check_failure(capsys.readouterr(), "model-compiled", "m.xyn")


def start(*line: str) -> subprocess.Popen[bytes]:
    environment = {**os.environ, "XYNTRA_ISOLATE": "true"}
    return subprocess.Popen(
        [sys.executable, "-c", MAIN, *line],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment,
    )


@pytest.mark.parametrize(
    "name", ["text", "cut to 50 %", "unknown operator", "mlir that does not parse"]
)
def test_a_process_fails_alike(name: str, tmp_path: Path) -> None:
    bad = MODELS[name]
    path = bad.make(tmp_path)
    process = start("compile", str(path), "-o", str(tmp_path / "out"))
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    check_failure((out.decode(), err.decode()), bad.code, bad.says)
    assert files(tmp_path) == {path}


def test_an_interrupted_process_leaves_nothing(model: Path) -> None:
    for seconds in (0.6, 0.4, 0.3, 0.2, 0.1):  # until a process has not yet done its work
        process = start("compile", "m.onnx", "--no-cache", "-o", "m.xyn")
        with suppress(subprocess.TimeoutExpired):
            process.wait(seconds)
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
        if process.returncode:
            break
        Path("m.xyn").unlink()
    # Where the interpreter has not come to us yet, the signal ends it, and no status is ours.
    assert (process.returncode in {130, -signal.SIGINT}, out) == (True, b"")
    assert b"Traceback" not in err or process.returncode == -signal.SIGINT
    assert files(model.parent) == {model}


PIPES = {
    "an onnx model": (["run", "pipe.onnx"], "model-not-file"),
    "an mlir model": (["run", "pipe.mlir"], "model-missing"),
    "a saved model": (["run", "pipe.xyn"], "archive-missing"),
    "an input": (["run", "m.onnx", "--input", "x=pipe.npy", "--random", "0"], "input-file"),
    "a compiled model": (["compile", "m.onnx", "-o", "pipe.xyn"], "write-failed"),
    "a page": (["explain", "m.onnx", "--html", "pipe.html"], "write-failed"),
}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
@pytest.mark.parametrize(("line", "code"), PIPES.values(), ids=PIPES)
def test_a_pipe_without_another_end_is_not_waited_for(
    line: list[str], code: str, model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for ending in ("onnx", "mlir", "xyn", "npy", "html"):
        os.mkfifo(f"pipe.{ending}")
    assert cli.run(line) == 1
    check_failure(capsys.readouterr(), code)
    assert Path("pipe.onnx").is_fifo()


@pytest.mark.skipif(sys.platform != "linux", reason="devices of Linux")
@pytest.mark.parametrize(
    "line",
    [
        ["compile", "m.onnx", "-o"],
        ["compile", "m.onnx", "--emit", "fused", "-o"],
        ["explain", "m.onnx", "--html"],
        ["run", "m.onnx", "--random", "0", "--trace"],
    ],
    ids=" ".join,
)
def test_a_full_device_stays_a_device(
    line: list[str], model: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert cli.run([*line, "/dev/full"]) == 1
    assert "error[write-failed]" in capsys.readouterr().err
    assert Path("/dev/full").is_char_device()
