# SPDX-License-Identifier: MIT OR Apache-2.0
"""The benchmark of the CPU target runs from end to end on one small model and one operation."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import bench.cpu.command
from bench.cpu.command import main, merged
from bench.cpu.operation_list import OPERATIONS
from bench.cpu.operations import Graph, Operation, normal
from bench.cpu.rows import geometric_means
from bench.documents.cpu import DETAILS, SUMMARY, render_details, render_summary
from bench.harness.measure import ROOT
from bench.models import REGISTRY
from bench.models.spec import InputSpec

SPEC = REGISTRY["magika"]
SHAPE = (64, 32)


def tiny() -> Operation:
    def model() -> onnx.ModelProto:
        graph = Graph({"x": SHAPE})
        return graph.model(graph.node("Exp", "x"), SHAPE)

    inputs = (InputSpec("x", "float32", SHAPE, normal()),)
    return Operation("tiny", "exp 64×32", inputs, model, 2.0 * 64 * 32 * 4, "B", limit=0.5)


def write_model(folder: Path) -> None:
    """Write a model with Magika's input that halves it."""
    batch = helper.make_tensor_value_info("bytes", TensorProto.INT32, ["n", 2048])
    half = helper.make_tensor_value_info("half", TensorProto.FLOAT, ["n", 2048])
    nodes = [
        helper.make_node("Cast", ["bytes"], ["real"], to=TensorProto.FLOAT),
        helper.make_node("Mul", ["real", "factor"], ["half"]),
    ]
    factor = helper.make_tensor("factor", TensorProto.FLOAT, [], [0.5])
    graph = helper.make_graph(nodes, "half", [batch], [half], [factor])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.save(model, folder / SPEC.filename)


@pytest.fixture
def command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Arguments that measure for a moment; the model and the operation are all that is known."""
    monkeypatch.setattr(bench.cpu.command, "REGISTRY", {SPEC.name: SPEC})
    monkeypatch.setattr(bench.cpu.command, "OPERATIONS", {"tiny": tiny()})
    for name, region in (("performance.md", DETAILS), ("README.md", SUMMARY)):
        (tmp_path / name).write_text(f"before\n{region.begin}\nold\n{region.end}\nafter\n")
    few = ["--threads", "1", "--rounds", "2", "--seconds", "0", "--turn", "0"]
    documents = [str(tmp_path / "performance.md"), str(tmp_path / "README.md")]
    places = ["--models", str(tmp_path), "--cache", str(tmp_path / "cache")]
    result = ["--json", str(tmp_path / "cpu.json")]
    return [*few, *places, *result, "--documents", *documents]


def test_all_is_measured_and_written(tmp_path: Path, command: list[str]) -> None:
    write_model(tmp_path)
    assert main([*command, "--threads", "1,2"]) == 0
    result = json.loads((tmp_path / "cpu.json").read_text())
    (model,), (operation,) = result["models"], result["operations"]
    assert model["cold_seconds"] > 0
    for row in (model, operation):
        assert list(row["threads"]) == ["1", "2"]
        for entry in row["threads"].values():
            check_entry(entry)
    for entry in operation["threads"].values():
        assert entry["achieved"] == pytest.approx(operation["work"] / entry["seconds"]["xyntra"])
        assert entry["share"] == pytest.approx(entry["achieved"] / entry["ceiling"])
    mean = result["geometric_means"]["2"]["onnxruntime"]
    assert mean == pytest.approx(model["threads"]["2"]["ratios"]["onnxruntime"])
    check_documents(tmp_path, result)


def check_entry(entry: dict[str, Any]) -> None:
    assert set(entry["seconds"]) == {"xyntra", "onnxruntime"}
    ours, theirs = entry["seconds"]["xyntra"], entry["seconds"]["onnxruntime"]
    assert entry["ratios"] == {"onnxruntime": pytest.approx(ours / theirs)}
    first, third = entry["quartiles"]["xyntra"]
    assert 0 < first <= third
    assert entry["rounds"] == 2
    assert entry["close"]["xyntra"]
    assert entry["max_absolute_errors"]["onnxruntime"] == 0
    assert entry["errors"] == {}


def check_documents(folder: Path, result: dict[str, Any]) -> None:
    details = (folder / "performance.md").read_text()
    assert details == f"before\n{DETAILS.begin}\n{render_details(result)}{DETAILS.end}\nafter\n"
    assert "### Operations, 2 threads" in details
    assert "| exp 64×32 |" in details
    summary = (folder / "README.md").read_text()
    assert summary == f"before\n{SUMMARY.begin}\n{render_summary(result)}{SUMMARY.end}\nafter\n"
    assert "geometric mean" in summary
    tables = [line for line in details.splitlines() if line.startswith("| ")]
    assert {line.count(" | ") for line in tables} <= {4, 9}


def test_a_row_that_fails_is_shown_with_its_error(tmp_path: Path, command: list[str]) -> None:
    (tmp_path / SPEC.filename).write_bytes(b"not a model")
    assert main(command) == 1
    assert "* magika: `error[" in (tmp_path / "performance.md").read_text()
    assert "geometric mean of nothing with 1 thread." in (tmp_path / "README.md").read_text()


def test_names_choose_and_are_merged(tmp_path: Path, command: list[str]) -> None:
    write_model(tmp_path)
    path = tmp_path / "cpu.json"
    assert main(["--ops-only", *command]) == 0
    assert json.loads(path.read_text())["models"] == []
    assert "old" in (tmp_path / "README.md").read_text()
    assert main(["mag*", "--merge", "--cold", "0", *command]) == 0
    merge = json.loads(path.read_text())
    assert [row["name"] for row in merge["models"] + merge["operations"]] == ["magika", "tiny"]
    summary = (tmp_path / "README.md").read_text()
    assert "old" not in summary
    (tmp_path / "README.md").write_text(f"{SUMMARY.begin}{SUMMARY.end}")
    assert main([*command, "--render"]) == 0
    assert (tmp_path / "README.md").read_text() in summary


def test_what_was_not_measured_again_stays() -> None:
    before = [{"name": "a", "cold_seconds": 1.0, "threads": {"1": 1, "2": 2}}, {"name": "b"}]
    after = [{"name": "c", "threads": {}}, {"name": "a", "threads": {"2": 3}}]
    assert merged(before, after) == [
        {"name": "a", "cold_seconds": 1.0, "threads": {"1": 1, "2": 3}}, {"name": "b"},
        {"name": "c", "threads": {}},
    ]  # fmt: skip


def test_means_are_geometric_and_over_those_that_have_a_ratio() -> None:
    rows = [
        {"threads": {"1": {"ratios": {"torch": 0.5, "onnxruntime": 1.0}}}},
        {"threads": {"1": {"ratios": {"onnxruntime": 4.0}}, "2": {}}},
    ]
    means = geometric_means(rows)
    assert means == {"1": {"torch": pytest.approx(0.5), "onnxruntime": pytest.approx(2.0)}}


def test_what_is_above_its_limit_or_wrong_stands_out() -> None:
    entry = {
        "seconds": {"xyntra": 2e-3, "onnxruntime": 1e-3}, "ratios": {"onnxruntime": 2.0},
        "max_absolute_errors": {"xyntra": 0.5}, "close": {"xyntra": False}, "errors": {},
        "others": 0.5,
    }  # fmt: skip
    row = {"name": "x", "title": "X", "limit": 1.0, "unit": "B", "threads": {"1": entry}}
    machine = {
        "cpu": "", "cores_allowed": 1, "memory_bytes": 0, "os": "", "python": "", "versions": {},
        "load_average": 0, "date": "",
    }  # fmt: skip
    settings = {"rounds": 1, "seconds": 1, "random_inputs": 1}
    result = {
        "machine": machine, "settings": settings, "models": [], "operations": [row],
        "geometric_means": {},
    }  # fmt: skip
    text = render_details(result)
    assert "| X | **5.0e-01** | 2.00† | 1.00 |  | **2.00** | 1.00 |" in text
    assert "† Other programs" in text


def test_the_documents_of_the_project_have_their_places() -> None:
    for name, region in (("docs/performance.md", DETAILS), ("README.md", SUMMARY)):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert region.replace(region.replace(text, "a\n"), "b\n") == region.replace(text, "b\n")


@pytest.mark.parametrize(
    "arguments",
    [["no-such-name"], ["--threads", "0"], ["--peers", "x"], ["--ops-only", "--models-only"]],
)
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_operations_are_valid_and_take_their_inputs(name: str) -> None:
    operation = OPERATIONS[name]
    models = [operation.model()] + ([operation.best()] if operation.best else [])
    for model in models:
        onnx.checker.check_model(model)
        ports = {
            port.name: tuple(dim.dim_value for dim in port.type.tensor_type.shape.dim)
            for port in model.graph.input
        }
        assert ports == {spec.name: spec.shape for spec in operation.inputs}
    assert operation.work > 0
