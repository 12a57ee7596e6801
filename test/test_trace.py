# SPDX-License-Identifier: MIT OR Apache-2.0
"""Traces hold what all processes do while a model is compiled and run, and spans are nested."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import xyntra
from verify.traces import problems
from xyntra.errors import InputError
from xyntra.spans import calls_recorded, span
from xyntra.tools.cli import run


@pytest.fixture
def model(tmp_path: Path) -> Path:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [16, 32])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [16, 16])
    nodes = [
        helper.make_node("Softmax", ["x"], ["s"], name="layers/0/softmax"),
        helper.make_node("MatMul", ["s", "w"], ["y"], name="layers/1/product"),
    ]
    weight = onnx.numpy_helper.from_array(np.ones((32, 16), np.float32), "w")
    graph = helper.make_graph(nodes, "g", [x], [y], [weight])
    path = tmp_path / "m.onnx"
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)]), path)
    return path


def events_of(path: Path) -> list[dict[str, Any]]:
    """Return the events of a trace that keeps the rules of the format."""
    events: list[dict[str, Any]] = json.loads(path.read_text())["traceEvents"]
    assert list(problems(events)) == []
    return events


def test_a_trace_holds_compiling_and_calls(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    with xyntra.trace(path):
        executable = xyntra.compile(model, target="cpu", config={"cache": False})
        executable(np.ones((16, 32), np.float32))
    events = events_of(path)
    spans = [each for each in events if each["ph"] == "X"]
    kinds = {each["cat"] for each in spans}
    assert {"compile", "pass", "kernel", "call"} <= kinds
    assert {"fuse-operations", "call", "load"} <= {each["name"] for each in spans}
    lowering = {"schedule-nests", "LLVM: optimise", "LLVM: emit code"}
    compiled = {each["pid"] for each in spans if each["cat"] == "kernel"}
    assert lowering <= {each["name"] for each in spans if each["pid"] in compiled}
    # The process that compiles the model, the one that compiles kernels, and this one.
    assert len({each["pid"] for each in spans}) >= 3
    names = {each["args"]["name"] for each in events if each["name"] == "process_name"}
    assert names == {"xyntra", "compiler of the model", "compiler of kernels"}
    assert not calls_recorded()


def test_a_run_has_kernels_and_memory(model: Path, tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    assert run(["run", str(model), "--random", "0", "--trace", str(path)]) == 0
    events = events_of(path)
    kernels = [each for each in events if each.get("tid") == 1 and each["ph"] == "X"]
    nodes = {node for each in kernels for node in each["args"]["nodes"]}
    assert nodes == {"layers/0/softmax", "layers/1/product"}
    assert all(each["ts"] >= 0 for each in kernels)
    assert [each for each in events if each["ph"] == "C"]


def test_two_traces_at_a_time_are_refused(tmp_path: Path) -> None:
    with xyntra.trace(tmp_path / "a.json"):
        with pytest.raises(InputError, match="trace-running"), xyntra.trace(tmp_path / "b.json"):
            pass
        with span("within", "compile", number=3):
            pass
    assert not (tmp_path / "b.json").exists()
    found = events_of(tmp_path / "a.json")
    assert [(each["name"], each["args"]) for each in found if each["ph"] == "X"] == [
        ("within", {"number": 3})
    ]


def test_what_raises_is_written_and_named(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), xyntra.trace(tmp_path / "a.json"), span("x", "call"):
        raise ZeroDivisionError("here")
    (event,) = (each for each in events_of(tmp_path / "a.json") if each["ph"] == "X")
    assert event["args"] == {"error": "ZeroDivisionError: here"}


def test_what_is_wrong_with_a_trace_is_found() -> None:
    outer = {"ph": "X", "name": "outer", "cat": "pass", "ts": 1, "dur": 10, "pid": 1, "tid": 2}
    inner = outer | {"name": "inner", "ts": 4, "dur": 7}
    assert list(problems([outer, inner, inner | {"tid": 3, "dur": 99}])) == []
    (crossing,) = problems([outer, inner | {"dur": 8}])
    assert crossing == "inner ends after outer"
    for wrong in ({"ph": "Z"}, {"dur": -1}, {"ts": -1}):
        assert len(list(problems([outer | wrong]))) == 1
    assert "no cat" in next(problems([{k: v for k, v in outer.items() if k != "cat"}]))
