# SPDX-License-Identifier: MIT OR Apache-2.0
"""Exported folders hold what the plan says, and what is not for browsers is refused."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from harness import node_model
from onnx import numpy_helper

import xyntra
from xyntra.errors import ArchiveError, UnsupportedError
from xyntra.executable import Executable
from xyntra.targets.webgpu.web import chunks
from xyntra.targets.webgpu.web.site import PAGE_FILES, PLAN, site_files
from xyntra.tools import cli

WEIGHT = np.arange(21 * 19, dtype=np.float32).reshape(21, 19)


def small_model() -> onnx.ModelProto:
    """Return a product with a weight."""
    model = node_model("MatMul", {"x": np.zeros((3, 21), np.float32), "w": WEIGHT})
    del model.graph.input[1]
    model.graph.initializer.append(numpy_helper.from_array(WEIGHT, "w"))
    return model


@pytest.fixture
def executable(has_naga: None, in_process: None) -> Executable:
    return xyntra.compile(small_model(), target="webgpu")


def exported(executable: Executable, folder: Path) -> dict[str, object]:
    executable.save_web(folder, title="a <b>model</b>")
    return json.loads((folder / PLAN).read_bytes())  # type: ignore[no-any-return]


def test_files_are_what_the_plan_says(executable: Executable, tmp_path: Path) -> None:
    plan = exported(executable, tmp_path)
    for each in [plan["shaders"], *plan["chunks"]]:
        data = (tmp_path / each["file"]).read_bytes()
        assert (len(data), hashlib.sha256(data).hexdigest()) == (each["nbytes"], each["sha256"])
    wgsl = (tmp_path / plan["shaders"]["file"]).read_bytes()
    for kernel in plan["kernels"]:
        code = wgsl[kernel["start"] : kernel["start"] + kernel["nbytes"]].decode()
        entries = {
            launch["entry"]
            for step in plan["steps"]
            if plan["kernels"][step["kernel"]] == kernel
            for launch in step["launches"]
        }
        assert entries
        assert all(f"fn {entry}(" in code for entry in entries)
    for name in PAGE_FILES:
        assert (tmp_path / name).stat().st_size > 100
    assert "<title>a &lt;b&gt;model&lt;/b&gt;" in (tmp_path / "index.html").read_text("utf-8")


@pytest.mark.parametrize("size", [4, 16, 100, 1 << 20])
def test_chunks_hold_weights_in_order(
    executable: Executable, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    monkeypatch.setattr(chunks, "CHUNK_BYTES", size)
    plan = exported(executable, tmp_path)
    whole = b"".join((tmp_path / each["file"]).read_bytes() for each in plan["chunks"])
    assert all(each["nbytes"] == size for each in plan["chunks"][:-1])
    found = [whole[offset : offset + nbytes] for _, offset, nbytes in plan["contents"]]
    assert WEIGHT.tobytes() in found


def test_bytes_that_are_no_whole_words_are_padded() -> None:
    pieces = [memoryview(b"abc"), memoryview(b"\0"), memoryview(b""), memoryview(b"12345678")]
    assert list(chunks._cut(pieces)) == [b"abc\x0012345678"]


def test_other_targets_are_refused(in_process: None, tmp_path: Path) -> None:
    with pytest.raises(UnsupportedError, match="compiled for WebGPU") as caught:
        xyntra.compile(small_model()).save_web(tmp_path / "site")
    assert caught.value.code == "web-target"
    assert not (tmp_path / "site").exists()


@pytest.mark.usefixtures("has_naga", "in_process")
def test_tensors_that_pages_have_no_arrays_of(tmp_path: Path) -> None:
    executable = xyntra.compile(small_model(), target="webgpu")
    plan = executable.artifact.plan
    narrow = replace(plan.inputs[0], dtype="float8_e5m2", shape=(3,))
    artifact = replace(executable.artifact, plan=replace(plan, inputs=(narrow,)))
    with pytest.raises(UnsupportedError, match="no arrays of") as caught:
        list(site_files(artifact, executable.weights, ""))
    assert caught.value.code == "web-type"


def test_a_folder_that_cannot_be_made(executable: Executable, tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    with pytest.raises(ArchiveError, match="folder cannot be made"):
        executable.save_web(tmp_path / "file")


@pytest.mark.usefixtures("has_naga", "in_process")
def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = tmp_path / "model.onnx"
    onnx.save(small_model(), model)
    folder = tmp_path / "my site"
    options = ["--target", "webgpu", "--emit", "web", "-o", str(folder)]
    assert cli.run(["compile", str(model), *options]) == 0
    assert f"--directory '{folder}'" in capsys.readouterr().out
    assert json.loads((folder / PLAN).read_bytes())["name"] == "model"
