# SPDX-License-Identifier: MIT OR Apache-2.0
"""Kernels become WGSL that naga reads, without a GPU."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
import pytest
from harness import node_model

import xyntra
from xyntra.errors import CompileError
from xyntra.targets.webgpu.code.shader_image import ShaderImage
from xyntra.targets.webgpu.code.wgsl import entry_points
from xyntra.targets.webgpu.naga.naga import Naga, naga
from xyntra.tools.cli import run

pytestmark = pytest.mark.usefixtures("has_naga", "in_process")

X = np.zeros((6, 40), np.float32)
MODELS = {
    "chain": node_model("Gelu", {"x": X}),
    "rows": node_model("Softmax", {"x": X}),
    "product": node_model("MatMul", {"x": X, "w": np.zeros((40, 30), np.float32)}),
    "half": node_model("Tanh", {"x": X.astype(np.float16)}),
    "bytes": node_model("Add", {"x": X.astype(np.int8), "y": X.astype(np.int8)}),
    "wide": node_model("Mul", {"x": X.astype(np.int64), "y": X.astype(np.int64)}),
    "truth": node_model("IsNaN", {"x": X}),
}


def images(model: onnx.ModelProto) -> list[ShaderImage]:
    executable = xyntra.compile(model, target="webgpu", config={"strict": True, "cache": False})
    return [ShaderImage.from_bytes(code) for code in executable.artifact.objects.values()]


@pytest.mark.parametrize("name", MODELS)
def test_wgsl_is_read_again(name: str) -> None:
    found = images(MODELS[name])
    assert found
    for image in found:
        naga().check(image.wgsl)
        assert [each.entry for each in image.launches] == entry_points(image.wgsl)
        # Of private variables the uniformity is not known.
        assert "var<private>" not in image.wgsl
        assert ShaderImage.from_bytes(image.to_bytes()) == image


def test_no_literal_is_infinite() -> None:
    (image,) = images(node_model("ReduceMax", {"x": X}, keepdims=0))
    assert "inf" not in image.wgsl
    assert "4286578688u" in image.wgsl  # the bits of minus infinity


def test_what_naga_refuses_is_an_error() -> None:
    ours = Naga()
    for _ in range(2):  # it goes on after an error
        with pytest.raises(CompileError, match="refuses the WGSL"):
            ours.check("fn f( {")
        with pytest.raises(CompileError, match=r"(refuses|failed on) the SPIR-V"):
            ours.wgsl_of(b"\x03\x02\x23\x07" + bytes(64))
    ours.check("fn f() {}")


def test_text_of_every_level_is_written_and_read(tmp_path: Path) -> None:
    model = tmp_path / "m.onnx"
    onnx.save(MODELS["rows"], model)
    for level in ("stages", "gpu", "spirv", "wgsl"):
        text = tmp_path / f"m.{level}.mlir"
        options = ["--target", "webgpu", "-o"]
        assert run(["compile", str(model), "--emit", level, *options, str(text)]) == 0
        saved = str(tmp_path / f"{level}.xyn")
        assert run(["compile", str(text), "--trust-code", *options, saved]) == 0
    assert "@compute" in text.read_text()
