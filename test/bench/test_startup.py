# SPDX-License-Identifier: MIT OR Apache-2.0
"""The input of the start-up measurement is what it says."""

from __future__ import annotations

from pathlib import Path

import onnx
from torch_mlir import ir

from bench.compile.startup import TEN_LINES
from bench.compile.twice import PHASES, small_model
from bench.harness.measure import fresh


def test_the_file_of_ten_lines_is_valid() -> None:
    assert len(TEN_LINES.splitlines()) == 10
    with ir.Context():
        assert ir.Module.parse(TEN_LINES).operation.verify()


def test_the_small_model_is_valid_and_has_ten_nodes() -> None:
    model = onnx.load_from_string(small_model())
    onnx.checker.check_model(model, full_check=True)
    assert len(model.graph.node) == 10


def test_every_phase_of_two_compilations_is_timed(tmp_path: Path) -> None:
    path = tmp_path / "small.onnx"
    path.write_bytes(small_model())
    times = fresh("bench.compile.twice", {"path": str(path)}, timeout=300)
    assert list(times) == list(PHASES)
    for phase in times.values():
        assert phase["cpu_seconds"] > 0
        assert phase["seconds"] > 0
