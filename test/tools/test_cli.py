# SPDX-License-Identifier: MIT OR Apache-2.0
"""`xyntra` does what it is asked to."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx_models import chain, make_model, mlp, mlp_reference

import xyntra
from xyntra.tools import cli, opt
from xyntra.version import VERSION

LEVELS = ["linalg", "fused", "kernels"]
MODELS = {"chain": chain, "mlp": mlp}


@pytest.fixture(autouse=True)
def _quick(in_process: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(warnings, "showwarning", warnings.showwarning)
    monkeypatch.chdir(tmp_path)
    for name, make in MODELS.items():
        onnx.save(make(), tmp_path / f"{name}.onnx")


def command(*arguments: str, status: int = 0) -> None:
    assert cli.run(arguments) == status


def text(capsys: pytest.CaptureFixture[str]) -> str:
    """What was printed; nothing may have gone to standard error."""
    captured = capsys.readouterr()
    assert captured.err == ""
    return captured.out


def outputs(model: str, name: str, folder: str) -> np.ndarray:
    """The output `name` of `model` on random inputs."""
    command("run", model, "--random", "7", "--save", folder)
    found: np.ndarray = np.load(Path(folder) / f"{name}.npy")
    return found


def test_ptx_in_a_folder_is_one_file_for_each_kernel(tmp_path: Path) -> None:
    command("compile", "mlp.onnx", "--target", "cuda:sm_90a", "--emit", "ptx", "-o", "out/ptx/")
    exe = xyntra.compile(str(tmp_path / "mlp.onnx"), target="cuda:sm_90a")
    files = {file.stem: file.read_text() for file in (tmp_path / "out/ptx").iterdir()}
    assert files.keys() == exe.plan.kernels.keys()
    for name, code in files.items():
        assert f".entry {name}_0(" in code
        assert ".target sm_90a" in code


def test_kernels_for_the_cpu_have_no_ptx(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--emit", "ptx", status=1)
    assert "error[level-target]" in capsys.readouterr().err
    command("compile", "mlp.onnx", "--emit", "ptx", "-o", "out/ptx/", status=1)
    assert "error[ptx-target]" in capsys.readouterr().err


def test_the_llvm_level_is_that_of_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--target", "cuda:sm_90a", "--emit", "llvm")
    assert "ptx_kernel" in text(capsys)


def test_a_model_is_compiled_beside_us(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "elsewhere"
    folder.mkdir()
    onnx.save(chain(), folder / "m.onnx")
    command("compile", str(folder / "m.onnx"))
    assert text(capsys) == ""
    assert [path.name for path in folder.iterdir()] == ["m.onnx"]
    x = np.ones((2, 3), np.float32)
    np.testing.assert_array_equal(xyntra.load("m.xyn")(x, x), np.full((2, 3), 4))


def test_the_output_is_named(tmp_path: Path) -> None:
    command("compile", "mlp.onnx", "-o", "own.bin")
    x = np.ones((4, 32), np.float32)
    found = xyntra.load("own.bin")(x)
    np.testing.assert_allclose(found, mlp_reference(mlp(), x), rtol=1e-5, atol=1e-5)
    assert {path.suffix for path in tmp_path.iterdir()} == {".bin", ".onnx"}


@pytest.mark.parametrize("model", MODELS)
def test_levels_say_what_they_are(model: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = {}
    for level in [*LEVELS, "llvm"]:
        command("compile", f"{model}.onnx", "--emit", level)
        found[level] = text(capsys)
    assert "linalg.generic" in found["linalg"]
    assert "xyntra.fused" not in found["linalg"]
    assert '"xyntra.fused"' in found["fused"]
    assert "xyntra.kernel" not in found["fused"]
    names = re.findall(r"func private @(\w+)\(.*#xyntra.kernel<", found["kernels"])
    assert names
    assert all(f"call @{name}(" in found["kernels"] for name in names)
    assert "xyntra.fused" not in found["kernels"]
    assert all(re.search(rf"^define .*@{name}\b", found["llvm"], re.M) for name in names)
    for level in LEVELS:
        assert 'loc("Relu:' in found[level]


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_continued_from(level: str, capsys: pytest.CaptureFixture[str]) -> None:
    for model, name in (("chain", "z"), ("mlp", "y")):
        command("compile", f"{model}.onnx", "--emit", level, "-o", f"{model}.mlir")
        wanted = outputs(f"{model}.onnx", name, "a")
        found = outputs(f"{model}.mlir", name, "b")
        assert found.tobytes() == wanted.tobytes()
    assert capsys.readouterr().out.count("float32") == 4
    # The weights stay where they are, and the text says where.
    assert str(Path("mlp.onnx").resolve()) in Path("mlp.mlir").read_text()


@pytest.mark.parametrize("level", LEVELS)
def test_levels_are_read_by_xyntra_opt(level: str) -> None:
    command("compile", "mlp.onnx", "--emit", level, "-o", "m.mlir")
    assert opt.run(["m.mlir", "-o", "again.mlir"]) == 0
    assert "func.func @main" in Path("again.mlir").read_text()


def test_passes_lead_from_level_to_level() -> None:
    for level in LEVELS:
        command("compile", "mlp.onnx", "--emit", level, "-o", f"{level}.mlir")
    assert opt.run(["--pass-pipeline=kernels", "fused.mlir", "-o", "k.mlir"]) == 0
    names = [
        set(re.findall(r"@(\w+_[0-9a-f]{8})", Path(file).read_text()))
        for file in ("k.mlir", "kernels.mlir")
    ]
    assert names[0] == names[1] != set()


def test_a_graph_for_graphviz(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--emit", "dot")
    found = text(capsys)
    assert found.startswith("digraph ")
    assert found.count("{") == found.count("}") == 1
    assert found.count('"') % 2 == 0
    for label in ("MatMul:p", "Add:s", "Relu:y", '"x"', '"y"'):
        assert label in found
    nodes = set(re.findall(r"^  (\w+) \[label", found, re.M))
    assert set(re.findall(r"(\w+) ->|-> (\w+)", found)) <= {
        pair for node in nodes for pair in ((node, ""), ("", node))
    }


def test_a_graph_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--emit", "json")
    found = json.loads(text(capsys))
    compiled = xyntra.compile("mlp.onnx")
    assert [kernel["name"] for kernel in found["kernels"]] == [k.name for k in compiled.kernels]
    assert [kernel["bytes"] for kernel in found["kernels"]] == [k.bytes for k in compiled.kernels]
    assert len(found["buffers"]) == len(compiled.plan.buffers)
    assert [port["name"] for port in found["inputs"] + found["outputs"]] == ["x", "y"]


@pytest.mark.parametrize("graph", ["before", "both"])
def test_the_graph_before_fusion(graph: str, capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--emit", "json", "--graph", graph)
    found = json.loads(text(capsys))
    before = found["before"] if graph == "both" else found
    assert [node["op"] for node in before["nodes"]] == ["MatMul", "Add", "Relu"]
    assert before["nodes"][2]["reads"] == [{"node": 1}]
    assert all(node["kernels"] for node in before["nodes"])
    command("compile", "mlp.onnx", "--emit", "dot", "--graph", graph)
    assert text(capsys).count("subgraph cluster_") == (2 if graph == "both" else 0)


def test_the_reduced_graph_as_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "--emit", "onnx", "-o", "reduced.onnx")
    assert capsys.readouterr().out == ""
    onnx.checker.check_model("reduced.onnx", full_check=True)
    found = onnx.load("reduced.onnx")
    names = [kernel.name for kernel in xyntra.compile("mlp.onnx").kernels]
    assert [node.op_type for node in found.graph.node] == names
    # The weight stays where it is: the model refers to the file beside it.
    weights = {t.name: onnx.numpy_helper.to_array(t) for t in found.graph.initializer}
    np.testing.assert_array_equal(
        weights["w"], onnx.numpy_helper.to_array(onnx.load("mlp.onnx").graph.initializer[0])
    )
    assert [value.name for value in found.graph.input] == ["x"]
    (tmp_path / "apart").mkdir()
    command("compile", "mlp.onnx", "--emit", "onnx", "-o", "apart/reduced.onnx")
    onnx.checker.check_model("apart/reduced.onnx", full_check=True)
    inputs = [value.name for value in onnx.load("apart/reduced.onnx").graph.input]
    assert inputs == ["x", "w"]


def test_the_reduced_graph_of_saved_models_and_text() -> None:
    command("compile", "mlp.onnx", "-o", "mlp.xyn")
    command("compile", "mlp.onnx", "--emit", "linalg", "-o", "mlp.mlir")
    command("compile", "mlp.xyn", "--emit", "onnx", "-o", "saved.onnx")
    command("compile", "mlp.mlir", "--emit", "onnx", "-o", "text.onnx")
    for name, count in (("saved.onnx", 2), ("text.onnx", 1)):
        onnx.checker.check_model(name, full_check=True)
        assert len(onnx.load(name).graph.input) == count


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ([], "output-missing"),
        (["-o", "-"], "output-missing"),
        (["-o", "mlp.onnx"], "output-is-model"),
        (["-o", "./linked.onnx"], "output-is-model"),
        (["-o", "missing/m.onnx"], "write-failed"),
    ],
)
def test_the_reduced_graph_is_refused(
    arguments: list[str], code: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("linked.onnx").symlink_to("mlp.onnx")
    before = Path("mlp.onnx").read_bytes()
    command("compile", "mlp.onnx", "--emit", "onnx", *arguments, status=1)
    captured = capsys.readouterr()
    assert captured.out == ""
    assert f"error[{code}]" in captured.err
    assert Path("mlp.onnx").read_bytes() == before


def test_inputs_come_from_files(capsys: pytest.CaptureFixture[str]) -> None:
    x = np.array([[-1, 2, 3], [4, -5, 6]], np.float32)
    np.save("x.npy", x)
    np.save("y.npy", x)
    command("run", "chain.onnx", "--input", "x=x.npy", "--input", "y=y.npy", "--save", "out")
    np.testing.assert_array_equal(np.load("out/z.npy"), np.maximum(x + x, 0) * 2)
    captured = capsys.readouterr()
    assert captured.out.startswith("z: float32 (2, 3) min 0 max 24 ")
    assert captured.err == "wrote 1 array to out\n"


def test_a_seed_gives_the_same_numbers(capsys: pytest.CaptureFixture[str]) -> None:
    found = []
    for seed in ("1", "1", "2"):
        command("run", "mlp.onnx", "--random", seed)
        found.append(text(capsys))
    assert found[0] == found[1] != found[2]


def test_outputs_with_odd_names_are_saved_apart() -> None:
    nodes = [("Neg", ["x"], ["a/b"]), ("Abs", ["x"], ["a_b"]), ("Sqrt", ["x"], ["../c"])]
    onnx.save(make_model(nodes, {"x": [4]}, ["a/b", "a_b", "../c"]), "odd.onnx")
    np.save("x.npy", np.arange(4, dtype=np.float32))
    command("run", "odd.onnx", "--input", "x=x.npy", "--save", "out")
    saved = [np.load(path) for path in Path("out").iterdir()]
    assert len(saved) == 3
    assert sorted(float(array[3]) for array in saved) == [-3, np.sqrt(np.float32(3)), 3]


def test_a_trace_is_written() -> None:
    command("run", "mlp.onnx", "--random", "0", "--trace", "t.json")
    whole = json.loads(Path("t.json").read_text())["traceEvents"]
    events = [event for event in whole if "kernel" in event.get("args", {})]
    names = [kernel.name for kernel in xyntra.compile("mlp.onnx").kernels]
    assert [event["args"]["kernel"] for event in events] == names
    assert all(event["ph"] == "X" and event["dur"] > 0 for event in events)
    ends = [event["ts"] + event["dur"] for event in events]
    assert all(end <= event["ts"] + 1e-3 for end, event in zip(ends, events[1:], strict=False))


def test_onnxruntime_agrees(capsys: pytest.CaptureFixture[str]) -> None:
    command("run", "mlp.onnx", "--random", "0", "--check", "onnxruntime")
    assert "y: agrees with onnxruntime" in text(capsys)


def test_numbers_that_are_none_agree_and_are_shown(capsys: pytest.CaptureFixture[str]) -> None:
    zero = {"k": np.zeros(3, np.float32)}
    onnx.save(make_model([("Div", ["x", "k"], ["y"])], {"x": [3]}, ["y"], zero), "inf.onnx")
    np.save("x.npy", np.array([1, -1, 0], np.float32))
    command("run", "inf.onnx", "--input", "x=x.npy", "--check", "onnxruntime")
    assert text(capsys).startswith("y: float32 (3,) min nan max nan mean nan\ny: agrees")


def test_bfloat16_goes_through_files() -> None:
    nodes = [("Neg", ["x"], ["y"])]
    model = make_model(nodes, {"x": [3]}, ["y"], dtype=onnx.TensorProto.BFLOAT16)
    onnx.save(model, "m.onnx")
    command("run", "m.onnx", "--random", "0", "--save", "a")
    command("run", "m.onnx", "--input", "x=a/y.npy", "--save", "b")
    minus = np.load("a/y.npy").view(np.uint16) ^ np.uint16(0x8000)
    np.testing.assert_array_equal(np.load("b/y.npy").view(np.uint16), minus)


def test_only_onnx_files_are_checked(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx", "-o", "m.xyn")
    command("run", "m.xyn", "--random", "0", "--check", "onnxruntime", status=1)
    assert "error[check-unsupported]" in capsys.readouterr().err


def test_saved_models_are_run_and_explained(capsys: pytest.CaptureFixture[str]) -> None:
    command("compile", "mlp.onnx")
    wanted = outputs("mlp.onnx", "y", "a")
    assert outputs("mlp.xyn", "y", "b").tobytes() == wanted.tobytes()
    capsys.readouterr()
    command("explain", "mlp.xyn")
    saved = text(capsys)
    command("explain", "mlp.onnx")
    assert text(capsys) == saved


def test_explain_reports(capsys: pytest.CaptureFixture[str]) -> None:
    command("explain", "mlp.onnx")
    plain = text(capsys)
    command("explain", "mlp.onnx", "--time")
    timed = text(capsys)
    assert plain.strip() == xyntra.compile("mlp.onnx").explain().strip()
    assert "measured" not in plain
    assert re.search(r"^measured time +[0-9.]+ [nu]s$", timed, re.M)
    assert re.search(r"^# +x +kind .* measured +share +kernel +nodes$", timed, re.M)


def test_explain_shows_each_kernel_and_one(capsys: pytest.CaptureFixture[str]) -> None:
    compiled = xyntra.compile("mlp.onnx")
    command("explain", "mlp.onnx", "--each")
    rows = re.findall(r"^([0-9]+) +1 ", text(capsys), re.M)
    assert rows == [str(i) for i in range(len(compiled.kernels))]
    command("explain", "mlp.onnx", "--kernel", "0", "--time")
    shown = text(capsys)
    assert shown.rstrip().endswith(compiled.kernels[0].text.rstrip())
    assert "measured" in shown
    command("explain", "mlp.onnx", "--boundaries")
    assert text(capsys).strip()


def test_explain_writes_a_page(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    before = {path.name for path in tmp_path.iterdir()}
    command("explain", "mlp.onnx", "--time", "--html", "page.html")
    assert capsys.readouterr().out == ""
    assert {path.name for path in tmp_path.iterdir()} == before | {"page.html"}
    found = Path("page.html").read_text()
    assert "<title>mlp.onnx" in found
    assert '"measured":' in found
    command("explain", "mlp.onnx", "--html", "missing/page.html", status=1)
    assert "error[write-failed]" in capsys.readouterr().err


def test_explain_refuses_an_unknown_kernel(capsys: pytest.CaptureFixture[str]) -> None:
    command("explain", "mlp.onnx", "--kernel", "99", status=1)
    assert "error[unknown-kernel]" in capsys.readouterr().err


def test_shapes_are_given(capsys: pytest.CaptureFixture[str]) -> None:
    model = make_model([("Neg", ["a=b"], ["y"])], {"a=b": ["n", 3]}, ["y"])
    onnx.save(model, "free.onnx")
    command("run", "free.onnx", "--shape", "a=b=2x3", "--random", "0")
    assert text(capsys).startswith("y: float32 (2, 3)")


def test_settings_come_from_a_file(capsys: pytest.CaptureFixture[str]) -> None:
    Path("own.toml").write_text("[xyntra]\nfuse = false\n")
    command("explain", "chain.onnx", "--config", "own.toml")
    assert "became 3 kernels" in text(capsys)
    command("explain", "chain.onnx")
    assert "became 1 kernel " in text(capsys)


def test_without_the_cache_nothing_is_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XYNTRA_CACHE_DIR", str(tmp_path / "cache"))
    command("run", "chain.onnx", "--random", "0", "--no-cache")
    assert not (tmp_path / "cache").exists()
    command("run", "chain.onnx", "--random", "0")
    assert (tmp_path / "cache").exists()


def test_devices_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    command("devices")
    short = text(capsys).splitlines()
    assert short[0] == f"cpu: {xyntra.devices()[0].summary}"
    assert all(len(line) < 200 for line in short)
    if len(xyntra.devices()) == 1:
        assert short[1].startswith("cuda: none (")
    command("devices", "--verbose")
    assert "\n  features: " in text(capsys)


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["compile", "--help"], ["run", "-h"], ["explain", "-h"], ["devices", "-h"]],
    ids=" ".join,
)
def test_help_is_shown(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.run(arguments)
    assert done.value.code == 0
    assert text(capsys).startswith("usage: xyntra ")


def test_the_version_is_shown(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as done:
        cli.run(["--version"])
    assert done.value.code == 0
    assert text(capsys) == f"xyntra {VERSION}\n"


MAIN = "from xyntra.tools.cli import main; main()"


@pytest.mark.parametrize(
    "what", [["explain", "wide.onnx", "--each"], ["compile", "wide.onnx", "--emit", "json"]]
)
def test_a_reader_may_leave(what: list[str]) -> None:
    # More output than a pipe holds, so that writing goes on after the reader has left.
    nodes = [("Neg", ["x"], [f"output_{i:0300}"]) for i in range(300)]
    onnx.save(make_model(nodes, {"x": [4]}, [node[2][0] for node in nodes]), "wide.onnx")
    command("compile", "wide.onnx", "-o", "wide.xyn")
    process = subprocess.Popen(
        [sys.executable, "-c", MAIN, *what],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "XYNTRA_FUSE": "false"},
    )
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.read(1)
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 1
    process.stderr.close()


def test_run_takes_free_dimensions_from_the_input_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    value = onnx.helper.make_tensor_value_info
    negate = onnx.helper.make_node("Neg", ["x"], ["y"])
    free = [value(name, onnx.TensorProto.FLOAT, ["N", 3]) for name in "xy"]
    graph = onnx.helper.make_graph([negate], "negate", free[:1], free[1:])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset), tmp_path / "negate.onnx")
    np.save(tmp_path / "x.npy", np.ones((5, 3), np.float32))
    command("run", "negate.onnx", "--no-cache", "--input", "x=x.npy")
    assert capsys.readouterr().out.startswith("y: float32 (5, 3)")
