# SPDX-License-Identifier: MIT OR Apache-2.0
"""Rows that subgroups reduce, where the adapter has them, are those of the processor."""

from __future__ import annotations

import numpy as np
import onnx
import pytest
from harness import compare, graph_model, run_compiled

import xyntra
from xyntra.errors import UnsupportedError
from xyntra.targets.webgpu.adapter import open_device
from xyntra.targets.webgpu.backend import BACKEND
from xyntra.targets.webgpu.code.wgsl import browser_text

TARGET = "webgpu:webgpu-subgroups"


def rows(columns: int) -> tuple[onnx.ModelProto, dict[str, np.ndarray]]:
    """Return a model that reduces rows in several ways, and rows with NaN and infinities."""
    x = np.random.default_rng(columns).standard_normal((6, columns)).astype(np.float32)
    x[1, columns // 2] = np.nan
    x[2, 3] = np.uint32(0xFFC00001).view(np.float32)  # NaN with a sign
    x[3, 5], x[3, 6] = np.inf, -np.inf
    x[4] = -abs(x[4])
    nodes = [
        onnx.helper.make_node("Softmax", ["x"], ["p"], axis=1),
        *(
            onnx.helper.make_node(f"Reduce{kind}", ["x", "axes"], [kind.lower()])
            for kind in ("Sum", "Max", "Min")
        ),
    ]
    feeds = {"x": x}
    return graph_model(nodes, feeds, ["p", "sum", "max", "min"], {"axes": np.array([1])}), feeds


@pytest.mark.usefixtures("has_gpu")
@pytest.mark.parametrize("columns", [257, 5000])
def test_rows_are_right_with_nan_and_infinities(columns: int) -> None:
    if "subgroup" not in open_device().features:
        pytest.skip("the adapter has no subgroups")
    model, feeds = rows(columns)
    found = run_compiled(model, feeds, target=TARGET, strict=True)
    x = feeds["x"].astype(np.float64)
    # onnxruntime leaves NaN out of some maxima.
    with np.errstate(invalid="ignore"):
        powers = np.exp(x - x.max(1, keepdims=True))
        expected = [powers / powers.sum(1, keepdims=True)]
        expected += [reduce(x, axis=1, keepdims=True) for reduce in (np.sum, np.max, np.min)]
    compare(found, [each.astype(np.float32) for each in expected], rtol=2e-5, atol=2e-5)


@pytest.mark.usefixtures("has_naga")
def test_code_uses_subgroups_only_where_they_are_asked_for() -> None:
    model, _ = rows(5000)
    shaders = {}
    for target in ("webgpu", TARGET):
        code = xyntra.compile(model, target=target).artifact.objects
        shaders[target] = "".join(BACKEND.assembly_files(code).values())
    assert "subgroup" not in shaders["webgpu"]
    assert "subgroupAdd(" in shaders[TARGET]
    assert "subgroupMax(" in shaders[TARGET]
    assert "enable subgroups;" in browser_text(shaders[TARGET])
    assert browser_text(shaders["webgpu"]) == shaders["webgpu"]


@pytest.mark.usefixtures("has_naga")
def test_a_page_is_not_written_of_code_for_graphics_cards(tmp_path: object) -> None:
    model, _ = rows(64)
    executable = xyntra.compile(model, target="webgpu:webgpu-discrete")
    with pytest.raises(UnsupportedError, match="any GPU"):
        executable.save_web(str(tmp_path))
