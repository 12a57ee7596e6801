# SPDX-License-Identifier: MIT OR Apache-2.0
"""Cold compilations of files are measured with all their processes."""

from __future__ import annotations

import json
from pathlib import Path

from bench.compile.cold import main
from bench.compile.twice import small_model


def test_a_file_is_compiled_cold_as_often_as_said(tmp_path: Path) -> None:
    model, result = tmp_path / "small.onnx", tmp_path / "result.json"
    model.write_bytes(small_model())
    assert main([str(model), "--cold", "2", "--json", str(result)]) == 0
    row = json.loads(result.read_text("utf-8"))["models"]["small"]
    assert len(row["all_seconds"]) == len(row["all_cpu_seconds"]) == 2
    assert row["seconds"] == min(row["all_seconds"])
    assert row["distinct_kernels"] == row["kernels"] == 3
    # The worker that imports the model, and the children that compile kernels, are counted.
    assert row["cpu_seconds"] > 0.2
