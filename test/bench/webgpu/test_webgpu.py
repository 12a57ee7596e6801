# SPDX-License-Identifier: MIT OR Apache-2.0
"""The rows of `bench.webgpu`, and what it prints of models that are always prepared."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from bench.webgpu.measures import beyond
from bench.webgpu.rows import FILES, MODELS, OPERATIONS, artifact
from bench.webgpu.run import run
from xyntra.errors import XyntraError
from xyntra.targets.webgpu.adapter import open_device
from xyntra.targets.webgpu.naga.naga import naga

pytest.importorskip("torch")
prepare = pytest.importorskip("bench.webgpu.prepare").prepare


def test_there_are_ten_models_and_each_artifact_has_a_name_of_its_own() -> None:
    names = [*OPERATIONS, *MODELS, *FILES]
    assert len([*MODELS, *FILES]) == 10
    paths = {artifact(Path(), name, target) for name in names for target in ("webgpu", "cuda")}
    assert len(paths) == 2 * len(names)


def test_nan_is_beyond_every_limit() -> None:
    expected = [np.ones(4, np.float32)]
    assert beyond([np.float32([1, 1.001, 1.01, np.nan])], expected) == 2


def test_the_cost_of_calls_is_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        naga()
        open_device()
    except XyntraError as error:
        pytest.skip(error.message)
    assert prepare(tmp_path, tmp_path, "cuda:sm_90a", lambda _: False) == 0
    record = tmp_path / "record.json"
    assert run(tmp_path, "webgpu", 1, lambda _: False, output=record) == 0
    printed = capsys.readouterr().out
    assert "a copy moves" in printed
    assert "tiny-model.xyn: a call of 1 kernels" in printed
    written = json.loads(record.read_text(encoding="utf-8"))
    assert written["host"]["tiny-model.xyn"]["call_us"] > 0


def test_a_row_that_fails_is_an_error_of_the_record(tmp_path: Path) -> None:
    try:
        open_device()
    except XyntraError as error:
        pytest.skip(error.message)
    record = tmp_path / "record.json"
    assert run(tmp_path, "webgpu", 1, lambda name: "softmax" in name, ["rows"], record) == 1
    (row,) = json.loads(record.read_text(encoding="utf-8"))["rows"].values()
    assert "softmax" in row["error"]
