# SPDX-License-Identifier: MIT OR Apache-2.0
"""A row of the table is measured end to end, on a small stand-in for a model's file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

from bench.documents.model_table import render
from bench.model_table import main, make_parser, measure_row
from bench.models import REGISTRY

SPEC = REGISTRY["magika"]


@pytest.fixture
def options(tmp_path: Path) -> argparse.Namespace:
    """Return the least that the command can be asked to measure."""
    few = ["--cold", "1", "--cached", "1", "--seeds", "2", "--rounds", "2", "--seconds", "0"]
    return make_parser().parse_args(["--models", str(tmp_path), *few])


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


def table(row: dict[str, Any]) -> str:
    machine = {
        "cpu": "", "cores_allowed": 1, "memory_bytes": 0, "os": "", "python": "",
        "versions": {}, "load_average": 0.0, "date": "",
    }  # fmt: skip
    return render({"machine": machine, "settings": {"threads": 1, "seeds": 2}, "rows": [row]})


def test_a_row_holds_every_measurement(tmp_path: Path, options: argparse.Namespace) -> None:
    write_model(tmp_path)
    row = measure_row(SPEC, options)
    assert "error" not in row, row
    assert row["close"]
    assert row["max_absolute_error"] == 0
    assert row["file_bytes"] == (tmp_path / SPEC.filename).stat().st_size
    assert row["kernels"] >= 1
    assert row["operations"] >= row["kernels"]
    assert 0 < row["cached_seconds"] < row["cold_seconds"]
    assert row["ratio"] == pytest.approx(row["run_seconds"] / row["onnxruntime_seconds"])
    assert row["rounds"] == 2
    assert row["memory"]["worker_bytes"] > 0
    assert "failed" not in table(row)


def test_a_compilation_that_misses_the_cache_is_an_error(
    tmp_path: Path, options: argparse.Namespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_model(tmp_path)
    monkeypatch.setenv("XYNTRA_CACHE", "0")
    row = measure_row(SPEC, options)
    assert row["error"] == "a second compilation did not come from the cache"
    assert "cold_seconds" not in row


def test_a_model_that_fails_is_a_row(tmp_path: Path, options: argparse.Namespace) -> None:
    (tmp_path / SPEC.filename).write_bytes(b"not a model")
    row = measure_row(SPEC, options)
    assert row["error"].startswith("error[")
    assert row["file_bytes"] == 11
    assert "| failed |" in table(row)


@pytest.mark.parametrize(
    "arguments", [["no-such-model"], ["--seeds", "0"], ["--cold", "x"], ["--rounds"]]
)
def test_wrong_usage_is_refused(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(arguments)
    assert stopped.value.code == 2
    assert "error:" in capsys.readouterr().err
