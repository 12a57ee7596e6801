# SPDX-License-Identifier: MIT OR Apache-2.0
"""The benchmark beside neighbours runs from end to end on one small model."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path

import onnx
import pytest
from onnx import TensorProto, helper

import bench.cpu.neighbours
from bench.cpu.neighbour_calls import Busy
from bench.cpu.neighbours import main
from bench.documents.neighbours import REGION, render
from bench.models import REGISTRY

SPEC = REGISTRY["magika"]
CALLERS = ("xyntra", "xyntra, one thread", "onnxruntime")


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


def test_all_is_measured_and_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.cpu.neighbours, "REGISTRY", {SPEC.name: SPEC})
    monkeypatch.setattr(bench.cpu.neighbours, "_PATIENCE", 0.0)
    write_model(tmp_path)
    document, path = tmp_path / "performance.md", tmp_path / "neighbours.json"
    document.write_text(f"before\n{REGION.begin}\nold\n{REGION.end}\nafter\n")
    few = ["--rounds", "2", "--turn", "0", "--busy", "1,2", "--models", str(tmp_path)]
    assert main([*few, "--json", str(path), "--document", str(document)]) == 0
    result = json.loads(path.read_text())
    (row,) = result["rows"]
    places = ("alone", "in turns", "beside 1", "beside 2")
    assert set(row["phases"]) == {f"{who}, {place}" for who in CALLERS for place in places}
    for entry in row["phases"].values():
        assert 0 < entry["least"] <= entry["seconds"]
        assert entry["calls"] >= 4
    text = document.read_text()
    assert text == f"before\n{REGION.begin}\n{render(result)}{REGION.end}\nafter\n"
    assert {line.count(" | ") for line in text.splitlines() if line.startswith("|")} == {12}


def test_a_name_that_is_unknown_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["nothing"])


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_neighbours_compute_while_they_are_wanted() -> None:
    def fields(pid: int) -> list[str]:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()

    def wait_for(done: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not done():
            assert time.monotonic() < end
            time.sleep(0.01)

    busy = Busy(2)
    try:
        with busy.running(1) as pids:
            (pid,) = pids
            started = int(fields(pid)[11])
            wait_for(lambda: int(fields(pid)[11]) > started + 5)
        wait_for(lambda: fields(pid)[0] == "T")
    finally:
        busy.end()
    assert not os.path.exists(f"/proc/{pid}")
