# SPDX-License-Identifier: MIT OR Apache-2.0
"""The command line of `xyntra-opt`: flags, output, diagnostics, exit status."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from xyntra.dialects import make_context
from xyntra.dialects.mlir import ir
from xyntra.tools import opt_run
from xyntra.tools.opt import run

GOOD = """func.func @f(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = "xyntra.silu"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}
"""
BAD = """func.func @g(%x: tensor<4xf32>) {
  %0 = "xyntra.softmax"(%x) {axis = 1} : (tensor<4xf32>) -> tensor<4xf32>
  return
}
"""
DYNAMIC = """func.func @h(%x: tensor<?xf32>) {
  %0 = "xyntra.silu"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return
}
"""


@pytest.fixture
def write(tmp_path: Path) -> Callable[[str | bytes], str]:
    """Write a file and return its name."""

    def write(content: str | bytes) -> str:
        path = tmp_path / "in.mlir"
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return str(path)

    return write


Write = Callable[[str | bytes], str]
Capture = pytest.CaptureFixture[str]


def test_prints_what_it_read(write: Write, capsys: Capture) -> None:
    assert run([write(GOOD)]) == 0
    out, err = capsys.readouterr()
    assert '"xyntra.silu"' in out
    assert err == ""


def test_reads_the_standard_input(monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
    for arguments in ([], ["-"]):
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(GOOD.encode())))
        assert run(arguments) == 0
        assert '"xyntra.silu"' in capsys.readouterr().out


@pytest.mark.parametrize(
    "flags",
    [
        ["--decompose-named-ops", "--cse"],
        ["-decompose-named-ops", "-cse"],
        ["--pass-pipeline=builtin.module(decompose-named-ops,func.func(cse))"],
        ["--pass-pipeline", "decompose-named-ops"],
        ["--pipeline=decompose"],
        ["--pipeline", "decompose", "--symbol-dce"],
    ],
)
def test_runs_passes(write: Write, capsys: Capture, flags: list[str]) -> None:
    assert run([*flags, write(GOOD)]) == 0
    out = capsys.readouterr().out
    assert "linalg.generic" in out
    assert "xyntra.silu" not in out


def test_options_of_passes(write: Write, capsys: Capture) -> None:
    assert run(["--canonicalize=region-simplify=disabled top-down=false", write(GOOD)]) == 0
    assert run(["--canonicalize=no-such=1", write(GOOD)]) == 2
    assert "no such option no-such" in capsys.readouterr().err
    assert run(["--decompose-named-ops=x=1", write(GOOD)]) == 2
    assert "pass 'decompose-named-ops' has no option 'x'" in capsys.readouterr().err


def test_bytecode_is_read(write: Write, capsys: Capture) -> None:
    with make_context():
        buffer = io.BytesIO()
        ir.Module.parse(GOOD).operation.write_bytecode(buffer)
    assert run([write(buffer.getvalue())]) == 0
    assert '"xyntra.silu"' in capsys.readouterr().out
    assert run([write(buffer.getvalue()[:40])]) == 1
    assert "error" in capsys.readouterr().err


def test_output_file(write: Write, tmp_path: Path, capsys: Capture) -> None:
    out = tmp_path / "out.mlir"
    assert run([write(GOOD), "-o", str(out)]) == 0
    assert '"xyntra.silu"' in out.read_text()
    assert capsys.readouterr().out == ""
    assert run([write(BAD), f"-o={out}"]) == 1
    assert '"xyntra.silu"' in out.read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.mlir", "out.mlir"]


def test_output_to_a_device_and_to_nowhere(write: Write, tmp_path: Path, capsys: Capture) -> None:
    assert run([write(GOOD), "-o", os.devnull]) == 0
    assert Path(os.devnull).is_char_device()
    assert run([write(GOOD), "-o", str(tmp_path / "none" / "out.mlir")]) == 1
    assert "No such file or directory" in capsys.readouterr().err


def test_diagnostics_show_the_line(write: Write, capsys: Capture) -> None:
    name = write(BAD)
    assert run([name]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    message = "'xyntra.softmax' op expects 'axis' between 0 and 0 for rank 1, got 1"
    lines = [f"{name}:2:8: error: {message}", BAD.splitlines()[1], "       ^"]
    assert err.splitlines() == lines


def test_failure_of_a_pass_shows_the_line(write: Write, capsys: Capture) -> None:
    name = write(DYNAMIC)
    assert run(["--decompose-named-ops", name]) == 1
    assert f"{name}:2:8: error: 'xyntra.silu' has a dynamic shape" in capsys.readouterr().err


def test_split_input(write: Write, capsys: Capture) -> None:
    assert run(["--split-input-file", write(f"{GOOD}// -----\n{GOOD}")]) == 0
    assert capsys.readouterr().out.count("// -----\nmodule {") == 1
    name = write(f"{GOOD}// -----\n{BAD}// -----\n{GOOD}// -----\n{DYNAMIC}")
    assert run(["--split-input-file", "--decompose-named-ops", name]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert f"{name}:7:8: error" in err
    assert f"{name}:17:8: error" in err


def test_printing_around_passes(write: Write, capsys: Capture) -> None:
    flags = ["--mlir-print-ir-before=cse", "--mlir-print-ir-after=decompose-named-ops,cse"]
    assert run([*flags, "--decompose-named-ops", "--cse", "--symbol-dce", write(GOOD)]) == 0
    assert _titles(capsys) == ["After decompose-named-ops", "Before cse", "After cse"]
    flags = ["--mlir-print-ir-before-all", "--mlir-print-ir-after-all"]
    assert run([*flags, "--cse", write(GOOD)]) == 0
    assert _titles(capsys) == ["Before cse", "After cse"]


def _titles(capsys: Capture) -> list[str]:
    lines = capsys.readouterr().err.splitlines()
    start, end = "// -----// IR Dump ", " //----- //"
    return [line.removeprefix(start).removesuffix(end) for line in lines if line.startswith(start)]


def test_timing(write: Write, capsys: Capture) -> None:
    assert run(["--mlir-timing", "--cse", write(GOOD)]) == 0
    out, err = capsys.readouterr()
    assert "===" not in out
    assert [line.split()[-1] for line in err.splitlines()[2:]] == ["cse", "total"]


def test_forms_of_printing(write: Write, capsys: Capture) -> None:
    name = write(GOOD)
    assert run(["--mlir-print-op-generic", name]) == 0
    assert '"func.func"()' in capsys.readouterr().out
    assert run(["--mlir-print-debuginfo", name]) == 0
    assert "loc(" in capsys.readouterr().out
    assert run(["--mlir-print-debuginfo=0", name]) == 0
    assert "loc(" not in capsys.readouterr().out


def test_unregistered_dialects(write: Write, capsys: Capture) -> None:
    name = write('"other.op"() : () -> ()\n')
    assert run([name]) == 1
    assert "other" in capsys.readouterr().err
    assert run(["--allow-unregistered-dialect", name]) == 0
    assert '"other.op"' in capsys.readouterr().out


def test_help_version_and_lists(capsys: Capture) -> None:
    assert run(["--help"]) == 0
    text = capsys.readouterr().out
    for word in ("--verify-diagnostics", "--decompose-named-ops", "max-ops", "  decompose "):
        assert word in text
    assert run(["--list-passes"]) == 0
    assert "verify-kernels " in capsys.readouterr().out
    assert run(["--version"]) == 0
    assert capsys.readouterr().out.startswith("xyntra-opt ")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--split-inputfile"], "did you mean '--split-input-file'?"),
        (["--canonicalise"], "did you mean '--canonicalize'?"),
        (["--decompose-named-op"], "did you mean '--decompose-named-ops'?"),
        (["--zzzzzz"], "try: xyntra-opt --help"),
        (["--pipeline=decompos"], "did you mean 'decompose'?"),
        (["--pipeline"], "--pipeline needs a value: NAME"),
        (["-o"], "--o needs a value: FILE"),
        (["--verify-each=maybe"], "--verify-each is 0 or 1, got 'maybe'"),
        (["--list-passes=1"], "--list-passes takes no value, got '1'"),
        (["--cse", "--pass-pipeline=cse"], "cannot be combined"),
        (["--pass-pipeline=a,,b"], "a pass name is missing"),
        (["--pass-pipeline=no-such"], "there is no pass 'no-such'"),
        (["a.mlir", "b.mlir"], "one input was expected, got a.mlir, b.mlir"),
        (["--"], "'--' is not a flag"),
    ],
)
def test_wrong_usage(arguments: list[str], message: str, capsys: Capture) -> None:
    assert run(arguments) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"\xff\xfe", "neither text in UTF-8 nor MLIR bytecode"),
        (b"not mlir", "custom op 'not' is unknown"),
        (b"func.func @f() {\0", "error"),
        (b"ML\xefR\0\0\0", "error"),
    ],
)
def test_broken_input(content: bytes, message: str, write: Write, capsys: Capture) -> None:
    assert run([write(content)]) == 1
    out, err = capsys.readouterr()
    assert out == ""
    assert message in err


def test_missing_input(tmp_path: Path, capsys: Capture) -> None:
    assert run([str(tmp_path / "none.mlir")]) == 1
    assert "No such file or directory" in capsys.readouterr().err
    assert run([str(tmp_path)]) == 1
    assert "Is a directory" in capsys.readouterr().err


def test_no_traceback(write: Write, capsys: Capture, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> None:
        raise LookupError("lost")

    monkeypatch.setattr(opt_run, "Session", crash)
    assert run([write(GOOD)]) == 1
    assert capsys.readouterr().err == "xyntra-opt: error[internal]: LookupError: lost\n"


def test_as_a_process(write: Write) -> None:
    def start(*arguments: str) -> subprocess.CompletedProcess[str]:
        script = "from xyntra.tools.opt import main; main()"
        command = [sys.executable, "-c", script, *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    good = start("--cse", write(GOOD))
    assert (good.returncode, good.stderr) == (0, "")
    assert good.stdout.endswith("}\n")
    assert start(write(BAD)).returncode == 1
    assert start("--zzzzzz").returncode == 2


def test_closed_output_is_quiet(write: Write) -> None:
    script = "from xyntra.tools.opt import main; main()"
    read, write_end = os.pipe()
    os.close(read)
    done = subprocess.run(
        [sys.executable, "-c", script, write(GOOD)],
        stdout=write_end, stderr=subprocess.PIPE, check=False,
    )  # fmt: skip
    os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


def test_start_imports_little(write: Write) -> None:
    script = "import sys; from xyntra.tools.opt import run; run(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", script, "--cse", write(GOOD)],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    loaded = set(done.stdout.splitlines()[-1].split())
    assert not loaded & {"argparse", "importlib.metadata", "numpy", "torch_mlir.dialects.linalg"}
